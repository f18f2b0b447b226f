#include <windows.h>
/* Starts Wine's cmd.exe, and ends with 1 where that ends with 9009: so ends cmd.exe /c of Windows when the program is missing. */
int main(void) {
  wchar_t *rest = GetCommandLineW(), line[32768];
  int quoted = *rest == L'"';
  STARTUPINFOW start;
  PROCESS_INFORMATION made;
  DWORD code = 1;
  if (quoted) rest++;
  while (*rest && *rest != (quoted ? L'"' : L' ')) rest++;
  if (quoted && *rest) rest++;
  lstrcpyW(line, L"C:\\windows\\system32\\cmd.exe");
  lstrcatW(line, rest);
  GetStartupInfoW(&start);
  if (!CreateProcessW(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &made)) return 1;
  WaitForSingleObject(made.hProcess, INFINITE);
  GetExitCodeProcess(made.hProcess, &code);
  return code == 9009 ? 1 : (int)code;
}
