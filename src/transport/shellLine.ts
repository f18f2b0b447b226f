/** The shells in which the included agent runs a command line. */
export type ShellKind = 'posix' | 'gitBash' | 'pwsh' | 'powershell';

/**
 * Programs and PowerShell itself print UTF-8, without a byte order mark; there may be no console to set it on. No bars of progress, which count as
 * output, and slow downloads.
 */
const SET_UP = [
  'try { $OutputEncoding = [Console]::OutputEncoding = New-Object System.Text.UTF8Encoding $false } catch { }',
  "$ProgressPreference = 'SilentlyContinue'",
];
/** Windows PowerShell would write UTF-16 by `>` and read UTF-8 as the code page of the system. */
const FILES_IN_UTF8 = "$PSDefaultParameterValues['*:Encoding'] = 'utf8'";
/**
 * Ends with the exit code of the last program where the last command failed. What a program writes to a redirected stderr is an error of Windows
 * PowerShell, also when the program ends with 0.
 */
const END = [
  '$ok = $?',
  'if ($ok) { exit 0 }',
  'if ($LASTEXITCODE) { exit $LASTEXITCODE }',
  "if ($LASTEXITCODE -eq 0 -and $Error.Count -and $Error[0].FullyQualifiedErrorId -like 'NativeCommandError*') { exit 0 }",
  'exit 1',
];

/** Git Bash starts programs of Windows, too, which print in the code page of their console. */
const utf8Console = (chcp: string): string => `'${chcp.replaceAll('\\', '/')}' 65001 >/dev/null 2>&1; `;
/** The same as text, with the program where Windows has it. */
const UTF8_CONSOLE = /^'[a-z]:\/windows\/system32\/chcp\.com' 65001 >\/dev\/null 2>&1; /i;

/** The arguments that make the shell run one command line and end with its exit code, with UTF-8 output. `chcp`: the program of Windows, for Git Bash. */
export function argumentsFor(kind: ShellKind, command: string, chcp: string): string[] {
  if (kind === 'posix') return ['-c', command];
  if (kind === 'gitBash') return ['-c', `${utf8Console(chcp)}${command}`];
  const isOld = kind === 'powershell';
  const before = isOld ? [...SET_UP, FILES_IN_UTF8] : SET_UP;
  // As PowerShell 7 has it. Windows runs no scripts otherwise, and `npm` is one.
  const policy = isOld ? ['-ExecutionPolicy', 'RemoteSigned'] : [];
  // A comment or a continued line at the end of the command ends before the empty line.
  return ['-NoProfile', '-NonInteractive', ...policy, '-Command', `${before.join('; ')}; ${command}\n\n${END.join('; ')}`];
}

const POWERSHELLS = (['pwsh', 'powershell'] as const).map((kind) => {
  const args = argumentsFor(kind, '\0', '');
  const [before = '', after = ''] = (args.at(-1) ?? '').split('\0');
  return { others: args.slice(0, -1), before, after };
});

/** The command line in arguments of `argumentsFor` that wrap it; undefined unless everything around it is word for word what it puts there. */
export function wrappedCommand(args: readonly string[]): string | undefined {
  const script = args.at(-1) ?? '';
  const [chcp] = UTF8_CONSOLE.exec(script) ?? [];
  if (chcp !== undefined) return args.length === 2 && args[0] === '-c' ? script.slice(chcp.length) : undefined;
  for (const { others, before, after } of POWERSHELLS) {
    const isSame = others.length === args.length - 1 && others.every((one, at) => one === args[at]);
    if (!isSame || !script.startsWith(before) || !script.endsWith(after) || script.length < before.length + after.length) continue;
    return script.slice(before.length, script.length - after.length);
  }
  return undefined;
}
