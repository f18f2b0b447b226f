#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlhelp32.h>
/* taskkill /pid N [/T] [/F]: Wine's own knows no /T. */
static PROCESSENTRY32 entries[4096];
static int count;

static void end_process(DWORD pid) {
  HANDLE handle = OpenProcess(PROCESS_TERMINATE, FALSE, pid);
  if (!handle) return;
  TerminateProcess(handle, 1);
  CloseHandle(handle);
}

static void end_tree(DWORD pid) {
  int i;
  for (i = 0; i < count; i++)
    if (entries[i].th32ParentProcessID == pid && entries[i].th32ProcessID != pid) end_tree(entries[i].th32ProcessID);
  end_process(pid);
}

int main(int argc, char **argv) {
  DWORD pid = 0;
  int i, with_tree = 0, found = 0;
  HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
  for (i = 1; i < argc; i++) {
    if (!_stricmp(argv[i], "/pid") && i + 1 < argc) pid = (DWORD)atoi(argv[++i]);
    else if (!_stricmp(argv[i], "/t")) with_tree = 1;
  }
  entries[0].dwSize = sizeof entries[0];
  if (Process32First(snapshot, &entries[0])) {
    do {
      found |= entries[count].th32ProcessID == pid;
      count++;
      if (count < 4096) entries[count].dwSize = sizeof entries[0];
    } while (count < 4096 && Process32Next(snapshot, &entries[count]));
  }
  if (!found) {
    fprintf(stderr, "ERROR: The process \"%lu\" not found.\n", pid);
    return 128;
  }
  if (with_tree) end_tree(pid);
  else end_process(pid);
  return 0;
}
