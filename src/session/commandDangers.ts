import { isOnOtherServer, pathBelowFolder, writtenPlatform } from '../base/fileName.ts';
import { type GuardReason, globReason, guardReason } from '../base/guardedFiles.ts';
import { type Reach, ReachFinder } from './commandReach.ts';
import { codeIsGrave, isRemote, type ProgramCall, RULES, type Rule, sshOperands } from './dangerousPrograms.ts';
import { baseName, LineFiles } from './lineFiles.ts';
import { type CdPlace, LineFolder } from './lineFolder.ts';
import { FOLDER_OPTION, optionName, READERS, RUNNING_OPTIONS, RUNNING_SUBCOMMANDS, TASK_RUNNERS } from './programOptions.ts';
import { sedEffects } from './sedScript.ts';
import { relativePath } from './select.ts';
import {
  bracesWrittenOut,
  guessAt,
  type ShellCommand,
  type ShellDialect,
  type ShellWord,
  shellCommands,
  withLinesJoined,
} from './shellWords.ts';
import { firstFalseBlank, firstHidden, HIDDEN, writtenOut } from './visible.ts';
import { operandsBesides, writtenFiles } from './writtenFiles.ts';

/** The reasons to give an approval a second look, the worst first. */
export const DANGER_KINDS = [
  'answers',
  'changed',
  'root',
  'pipe',
  'hidden',
  'outside',
  'steers',
  'publishes',
  'sends',
  'history',
  'overwrites',
  'settings',
  'discards',
  'data',
  'deletes',
  'stops',
  'rights',
  'code',
  'network',
  'unsure',
  'lasting',
] as const;
export type DangerKind = (typeof DANGER_KINDS)[number];
export interface Danger {
  readonly kind: DangerKind;
  /** The part of the asked command that shows it, in UTF-16 units; absent where no single part does. */
  readonly at?: { readonly from: number; readonly to: number };
  /** The consumer that follows the file's instructions, for `steers`. */
  readonly why?: GuardReason;
  /** For `hidden` in a change: the character, written out, and where it is. For `changed`: the file. */
  readonly seen?: string;
  /** For `unsure`: the length of a text of which only the beginning and the end were judged. */
  readonly long?: number;
  /** The effect is irreversible or cannot be seen beforehand, so only the user may allow it. Without it the kind decides. */
  readonly grave?: boolean;
}

const GRAVE: ReadonlySet<DangerKind> = new Set(['answers', 'changed', 'root', 'pipe', 'hidden', 'outside', 'steers']);

/**
 * True when one of these is grave: then no surface focuses an answer that allows, and nothing wider than once is offered. Build files change
 * all day, so they are marked but not grave.
 */
export function isGrave(dangers: readonly Danger[]): boolean {
  return dangers.some(({ kind, why, grave = GRAVE.has(kind) && why !== 'build' }) => grave);
}

/** Longer commands are judged by their beginning and their end, and are grave because the rest was not looked at. */
const LOOKED_AT = 20_000;
const LOOKED_AT_END = 4000;
/** Texts within texts that are read: `sh -c "sh -c …"`. */
const DEEPEST = 6;

/** Facts that the text of a command tells about it. */
export interface JudgedCommand {
  /** In any order; a kind may come several times. */
  readonly dangers: readonly Danger[];
  readonly reach: Reach;
}

/** Every danger of a command line. `cwd`: the session's folder, `folder`: where it runs. */
export function commandDangers(whole: string, cwd: string, folder = cwd): readonly Danger[] {
  return judgeCommand(whole, cwd, folder).dangers;
}

export function judgeCommand(whole: string, cwd: string, folder = cwd): JudgedCommand {
  const found: Danger[] = [];
  const reach = new ReachFinder();
  const command = whole.slice(0, LOOKED_AT);
  if (whole.length > LOOKED_AT) found.push({ kind: 'unsure', grave: true, long: whole.length });
  // On Windows many agents run their commands in Git Bash.
  const dialects: readonly ShellDialect[] = isWindowsFolder(cwd) ? ['cmd', 'powershell', 'posix'] : ['posix'];
  const start = isOutside(folder, cwd) ? cwd : folder;
  const work: Work = { words: MOST_JUDGED, units: MOST_READ };
  for (const dialect of dialects) new CommandClassifier(command, cwd, start, dialect, found, work, reach).judgeText(command, 0, 0);
  if (whole.length > LOOKED_AT) {
    const from = lastCommands(whole);
    const rest: Work = { words: MOST_JUDGED, units: MOST_READ };
    for (const dialect of dialects)
      new CommandClassifier(whole, cwd, start, dialect, found, rest, reach).judgeText(whole.slice(from), from, 0);
  }
  const joined = withLinesJoined(command);
  if (joined !== command) {
    const more: Danger[] = [];
    for (const dialect of dialects) new CommandClassifier(joined, cwd, start, dialect, more, work, reach).judgeText(joined, undefined, 0);
    found.push(...more.filter(({ kind, grave }) => !found.some((one) => one.kind === kind && (one.grave || !grave))));
  }
  const hidden = firstHidden(whole);
  if (hidden) found.push({ kind: 'hidden', at: hidden });
  const blank = firstFalseBlank(whole);
  if (blank) found.push({ kind: 'hidden', at: blank, seen: writtenOut(whole.slice(blank.from, blank.to)) });
  return { dangers: found, reach: reach.result() };
}

/** Where the commands at the end of a long text begin that are judged. */
function lastCommands(whole: string): number {
  const from = Math.max(LOOKED_AT, whole.length - LOOKED_AT_END);
  return from + whole.slice(from).search(/(?<=[;&|\n])|$/);
}

/** A command as it is asked about: it does not change. */
interface AskedCommand {
  readonly command: string;
  readonly cwd?: string | undefined;
}
const known = new WeakMap<AskedCommand, JudgedCommand & { readonly cwd: string }>();

/** The same, judged once for all rules and surfaces. */
export function judgedCommand(asked: AskedCommand, cwd: string): JudgedCommand {
  const before = known.get(asked);
  if (before?.cwd === cwd) return before;
  const judged = { cwd, ...judgeCommand(asked.command, cwd, asked.cwd) };
  known.set(asked, judged);
  return judged;
}

/** Programs that run the rest of their line, and their options that take a value. */
const WRAPPERS: ReadonlyMap<string, string> = new Map([
  ['sudo', '-u -g -h -p -C -r -t -T -U -D --user --group --chdir'],
  ['doas', '-u -C'],
  ['gsudo', '-u'],
  ['env', '-u -C --unset --chdir'],
  ['exec', '-a'],
  ['command', ''],
  ['builtin', ''],
  ['coproc', ''],
  ['call', ''],
  ['nohup', ''],
  ['conhost', ''],
  ['winpty', ''],
  ['time', '-f -o --format --output'],
  ['timeout', '-s -k --signal --kill-after'],
  ['gtimeout', '-s -k --signal --kill-after'],
  ['genv', '-u -C --unset --chdir'],
  ['gnice', '-n'],
  ['gnohup', ''],
  ['gstdbuf', '-i -o -e'],
  ['gtime', '-f -o'],
  ['gxargs', '-I -i -n -P -L -l -s -d -a -E -R -J --max-args --max-procs --replace --delimiter --arg-file'],
  ['chronic', ''],
  ['ifne', '-n'],
  ['sem', '-j --id'],
  ['catchsegv', ''],
  ...['nyc', 'c8'].map((name): [string, string] => [
    name,
    '-r -x -n -e -i -t -a -c -b --reporter --exclude --include --extension --require --report-dir --reports-dir --temp-dir --temp-directory --cwd --nycrc-path --config --src',
  ]),
  ['tini', ''],
  ['dumb-init', ''],
  ['sudo-rs', '-u -g -D'],
  ['run0', '-u'],
  ['pfexec', ''],
  ['pnpx', ''],
  ['pipx-run', ''],
  ['ccache', ''],
  ['sccache', ''],
  ['distcc', ''],
  ['bear', ''],
  ['wine', ''],
  ['coreutils', ''],
  ['nice', '-n'],
  ['ionice', '-c -n -p'],
  ['chrt', ''],
  ['choom', '-n -p'],
  ['setsid', ''],
  ['stdbuf', '-i -o -e'],
  ['unbuffer', ''],
  ['xargs', '-I -i -n -P -L -l -s -d -a -E -R -J --max-args --max-procs --replace --delimiter --arg-file'],
  ['parallel', '-j -I -a -n --jobs'],
  ['watch', '-n --interval'],
  ['caffeinate', '-t'],
  ['chroot', ''],
  ['nsenter', '-t --target -S -G'],
  ['unshare', ''],
  ['busybox', ''],
  ['toybox', ''],
  ['then', ''],
  ['do', ''],
  ['else', ''],
  ['elif', ''],
  ['if', ''],
  ['while', ''],
  ['until', ''],
  ['!', ''],
  ['npx', '-p --package -c --call'],
  ['bunx', ''],
  ['uvx', '--from --with'],
  ['shx', ''],
  ['rtk', ''],
  ['wsl', '-d -u'],
  ['strace', '-o --output -e -p -s -u -E -a -b -I -O -S -P -X'],
  ['flock', '-w -E'],
  ['start-process', '-verb -workingdirectory -windowstyle'],
  ['saps', '-verb'],
  ['start', ''],
  ['with-env', ''],
  ['dotenv', '-e'],
  ['cross-env', ''],
]);
/** The option of `env` with a whole line glued to it. */
const ENV_LINE = /^(?:-[a-z0]{0,9}S|--split-string=)(?=.)/;
const SHELL = /^(?:r?(?:ba|z|da|k|mk|pdk|c|tc|fi|a|ya|o|po|bru|hu|i|x|ng)?sh|elvish|nu|xonsh|oil)$/;
const POWERSHELL = /^(?:powershell|pwsh)$/;
/** Further programs that run a command: they get it in another way, or after options that are judged like those of a plain program. */
const RUNNERS = new Set(
  `runas alias eval openconsole wt forfiles iex invoke-expression invoke-command icm cmd %comspec% trap script su sg runuser pkexec setpriv capsh ssh
  sshpass ssh-agent tmux screen dtach expect ltrace valgrind gdb perf rr hyperfine systemd-run systemd-inhibit start-stop-daemon daemonize xvfb-run
  dbus-launch dbus-run-session firejail bwrap proot fakeroot fakechroot faketime eatmydata taskset numactl cpulimit prlimit setarch linux32 linux64
  arch rlwrap entr watchexec torsocks torify proxychains proxychains4 nix-shell env-cmd dotenvx concurrently nodemon
  npm-run-all run-s run-p gosu su-exec rush noglob envdir chpst setuidgid softlimit s6-setuidgid execlineb with-contenv cgexec cset schedtool timelimit
  retry pee mispipe ts-node-dev tsnd onchange chokidar reflex modd when-changed entr-run faketty ptyget reattach-to-user-namespace sandbox-exec xcrun
  machinectl systemd-nspawn schroot lxc-attach apptainer singularity flatpak-spawn host-spawn jexec dtruss truss dtrace ktrace stap bpftrace uftrace heaptrack
  trace-cmd kcov multitime memusage qemu-x86_64 qemu-aarch64 box64 rosetta ld.so nq tsp pueue at batch wezterm kitty foot zellij abduco kdesu gksu beesu
  honcho foreman overmind forego chamber envchain infisical teller summon sops berglas railway newgrp sudoedit ssh-keygen nsh sshuttle autossh parallel-ssh
  pssh pdsh clush dsh csshx socat vagrant heroku fly flyctl keychain exo-open gtk-launch wmic psexec nocorrect repeat - and or not begin compgen complete mapfile readarray bind fc history open ed tclsh`.split(
    /\s+/,
  ),
);
/** Programs whose options are judged one by one. */
const OWN_OPTIONS = /^(?:vim?|nvim|less|man|tar|rg|sort|split|zip|wget|g?make|just|rsync)$/;
const FINDS_AND_RUNS = /^-(?:exec|ok)(?:dir)?$/;
const COMPILER = /^(?:[\w.]+-)*(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|gfortran|gdc|gnat|cpp)(?:-[\d.]+)?$/;
/** The option that names a wrapper for the compiler's own programs; its arguments follow after commas. */
const WRAPPER_OPTION = /^--?wrapper(?:=|$)/;
/** Programs that run what follows one of these words. */
const CARRIERS: readonly { readonly name: RegExp; readonly word: RegExp }[] = [
  { name: /^(?:g?find|bfs)$/, word: /^-(?:exec|ok)(?:dir)?$/ },
  { name: /^(?:fd|fdfind)$/, word: /^(?:-x|--exec|--exec-batch)/i },
  {
    name: /^(?:docker|podman|nerdctl|docker-compose|kubectl|oc|crictl|lxc|incus|flatpak|distrobox|toolbox)$/,
    word: /^(?:run|exec|enter)$/,
  },
  { name: /^(?:poetry|pipenv|pdm|hatch|rye|uv|conda|mamba|pixi|devbox|op|doppler)$/, word: /^run$/ },
  {
    name: /^(?:npm|pnpm|yarn|bun|bundle|mise|asdf|rbenv|pyenv|nodenv|goenv|jenv|plenv|direnv|aws-vault|opam|stack|cabal|dune|lein|carton|perlbrew|composer|lerna|nx|ip|tox)$/,
    word: /^(?:exec|x|dlx)$/,
  },
  {
    name: /^(?:rustup|fnm|nvm|volta|micromamba|uvx|guix|symfony|snap|coverage|gcloud|az|aws|ecs|netlify|spack)$/,
    word: /^(?:run|exec|shell|ssh|--)$/,
  },
  { name: /^nix$/, word: /^(?:-c|--command)$/ },
  { name: /^git$/, word: /^(?:foreach$|run$|-x|-o.|--ext?(?:ec|cmd)(?:=|$)|--open-files-in-pager)/i },
  { name: /^(?:rsync|xterm|konsole|alacritty|gnome-terminal)$/, word: /^(?:-e|--rsh|--command|--$)/ },
  { name: COMPILER, word: WRAPPER_OPTION },
  { name: /^(?:g?make|just)$/, word: /^(?:shell=|--shell$)/i },
  { name: /^(?:cmake|cargo)$/, word: /^(?:env|watch)$/ },
  { name: /^(?:rg|sort|split|zip|wget)$/, word: /^(?:-tt$|--(?:pre|compress-program|filter|use-askpass)(?:=|$))/i },
  { name: /^(?:vim?|nvim|less|man|tar)$/, word: /^(?:-c|\+|-p|-i$|--pager|--to-command|--use-compress-program|--checkpoint-action)/i },
];
/** Those that run it on this computer as it is. */
const CARRIERS_HERE =
  /^(?:poetry|pipenv|pdm|hatch|rye|uv|conda|mamba|micromamba|pixi|devbox|bundle|mise|asdf|rbenv|pyenv|nodenv|goenv|jenv|plenv|direnv|aws-vault|opam|stack|cabal|dune|carton|perlbrew|lerna|nx|rustup|fnm|nvm|volta|nix)$/;
/** Those with a folder or a version before it. */
const TAKES_PLACE = /^(?:direnv|aws-vault|rustup|nvm)$/;
/** Programs that a table may know without their version. */
const UNVERSIONED = new Set([
  ...[...RULES.keys(), ...RUNNING_OPTIONS.keys(), ...WRAPPERS.keys(), ...RUNNERS, ...TASK_RUNNERS],
  ...RUNNING_SUBCOMMANDS.flatMap(({ programs }) => [...programs]),
]);
const LONGEST_PROGRAM = 100;
/**
 * The name by which the tables call a program: `python3.12`, `g++-13` and `aarch64-linux-gnu-gcc` are known without version and machine. A program
 * that only reads has no version: another one may be named like it with a number.
 */
export function unversioned(written: string): string {
  if (UNVERSIONED.has(written) || written.length > LONGEST_PROGRAM) return written;
  const compiler = COMPILER.exec(written)?.[1];
  if (compiler !== undefined) return compiler;
  const name = written.replace(BUILD, '');
  if (name !== written && UNVERSIONED.has(name) && !READERS.has(name)) return name;
  const bare = /^(.*?[a-z+])[-_]?v?\d[\d.]*[tw]?$/.exec(name)?.[1];
  if (bare === undefined) return written;
  return (UNVERSIONED.has(bare) && !READERS.has(bare)) || SHELL.test(bare) || POWERSHELL.test(bare) ? bare : written;
}
/** Builds of one program that systems install side by side: `vim.tiny`, `python3-dbg`, `gdb-multiarch`. */
const BUILD =
  /(?:[.-](?:tiny|basic|nox|gtk\d?|athena|motif|gnome|huge|small|traditional|openbsd|dbg|debug|multiarch|static|minimal|full|preview|nightly|beta|lts))+$/;
/** The place in a program's arguments from which on any word may be another program that it runs; undefined when it runs none. Its name has no folder. */
export function runsFrom(named: string, args: readonly string[]): number | undefined {
  const program = unversioned(named);
  if (WRAPPERS.has(program) || SHELL.test(program) || POWERSHELL.test(program) || RUNNERS.has(program)) return 0;
  const carrier = CARRIERS.find(({ name }) => name.test(program));
  const at = carrier ? args.findIndex((text) => carrier.word.test(text)) : -1;
  if (at < 0) return undefined;
  // An option may hold the program itself: `fd -xrm`.
  return /^[-+]|=/.test(args[at] ?? '') ? at : at + 1;
}
/** True for an option behind which a program that runs its words takes a value; undefined where that is not known. In any case of letters. */
export function takesValue(program: string, option: string): boolean | undefined {
  return WRAPPERS.get(unversioned(program))?.toLowerCase().split(' ').includes(option);
}
/** Programs that run a text passed to them, and the options that hold it. */
const INTERPRETERS: readonly {
  readonly name: RegExp;
  readonly option: RegExp;
  readonly sub?: string;
  /** Options that take a value, which is no script. */
  readonly values?: RegExp;
}[] = [
  { name: /^(?:python|pypy)[\d.]*w?$|^py$/, option: /^-[bBdEiIOqsSuvx]*c/, values: /^-[bBdEiIOqsSuvx]*[XW]$/ },
  {
    name: /^(?:node|nodejs|bun)$/,
    option: /^-(?:e|p|pe|ep)$|^--(?:eval|print)(?:=|$)/,
    values: /^(?:-[rC]|--(?:require|import|loader|experimental-loader|conditions|preload))$/,
  },
  { name: /^deno$/, option: /^-p$/, sub: 'eval', values: /^(?:-c|--(?:config|import-map|lock|cert|preload))$/ },
  { name: /^(?:ruby|perl)[\d.]*$/, option: /^-(?![rIMmFCDKTx])[\w]*[eE]/, values: /^-[IrC]$/ },
  { name: /^php[\d.]*$/, option: /^-[rBRE]$/, values: /^-[cdz]$/ },
  {
    name: /^(?:lua|luajit|elixir|erl|rscript|julia|scala|groovy|osascript|ts-node|tsx|swift|ghc|racket)[\d.]*$/,
    option: /^-(?:e|eval|E)$|^--eval(?:=|$)/,
    values: /^-[ltLPrI]$/,
  },
  {
    name: /^(?:r|irb|guile|sbcl|clisp|ecl|ocaml|octave|jshell|tclsh|wish|expect|gnuplot|clojure|clj|bb|janet|fennel|kotlin|swipl|gosh|csi|qjs|gjs|pry)[\d.]*$/,
    option: /^-(?:e|eval|c)$|^--eval(?:=|$)/,
  },
  { name: /^(?:vim?|nvim|emacs|ed|ex)$/, option: /^(?:-c|\+(?![\d/]|$).*|--cmd|--eval|-es|-e)$/s },
];
/** Programs that run what they read from standard input, also beside a file. */
const READS_COMMANDS = /^(?:nix-shell|ghci|gdb|lldb)$/;
/** Programs, besides shells and interpreters, that run a script in a file, and the options for it. */
const RUNS_FILES = /^(?:[gm]?awk|g?sed|[gb]?make|just|rake|ninja|task|gdb|lldb|cmake|psql|ant)$/;
const SCRIPT_FILE =
  /^(?:-[a-zA-Z]*[fxslSPL]|--(?:file|(?:make|just|rake|task)file|command|script|load|require|import|init-file|rcfile))(?:=(.*)|(?<=^-[fxsS])((?:-|\/).*))?$/s;
/** Those of them that never hold anything but a file. */
const NAMES_SCRIPT = /^-(?:[a-zA-Z]*[fxP]|-)/;
/** What is read there comes from another program. */
const STANDARD_INPUT = /^(?:-|\/dev\/(?:stdin|fd\/0)|\/proc\/self\/fd\/0)$/;
const EDITOR = /^(?:vim?|nvim|emacs|ed|ex)$/;
/** Their options that hold a script, glued or in the next word. */
const EDITOR_SCRIPT = /^(?:\+(?![\d/]|$)|-{1,2}(?:eval|execute)=)/;
const BEFORE_SCRIPT = /^(?:-s?c|--cmd|-{1,2}(?:eval|execute))$/;
/** Commands of `vi` that write another file. */
const EDITOR_WRITES = /(?:^|[|:\n])\s{0,9}(?:w(?:q|rite)?|sav(?:e(?:as)?)?|up(?:date)?)!?\s{1,9}(?:>>\s{0,9})?([^\s|!]{1,200})/g;
function editorScripts(args: readonly ShellWord[]): readonly ShellWord[] {
  return args.filter(({ text }, at) => EDITOR_SCRIPT.test(text) || BEFORE_SCRIPT.test(args[at - 1]?.text ?? ''));
}
/** Programs that can run a shell by what they read, and their options and operands instead of that. */
const READS_STATEMENTS: readonly { readonly name: RegExp; readonly instead: RegExp; readonly operands?: number }[] = [
  { name: /^(?:psql|pgcli|usql)$/, instead: /^(?:-[a-zA-Z]*[cfl]|--(?:command|file|list)(?:=.*)?)$/ },
  { name: /^(?:mysql|mariadb|mycli)$/, instead: /^(?:-[BNsrt]*e.*|--execute(?:=.*)?)$/ },
  { name: /^(?:sqlite3?|duckdb)$/, instead: /^--?(?:c|s|cmd|init|help|version)$/, operands: 2 },
  { name: /^(?:mongo|mongosh)$/, instead: /^(?:--eval(?:=.*)?|-f|--file|.*\.js)$/ },
  { name: /^(?:sqlcmd|snowsql)$/, instead: /^-[qQifo]$/ },
  { name: /^(?:sqlplus|beeline|hive|spark-sql|lftp)$/, instead: /^(?:@.*|-[ef])$/ },
  { name: /^(?:m4|dc)$/, instead: /^(?:-e.*|--expression.*)$/, operands: 1 },
  { name: /^(?:ed|ex)$/, instead: /(?!)/ },
];
/** Statements that do: of `m4`, `dc`, `lftp` and the shells of databases. */
const RUNS_BY_STATEMENT = /\b(?:e?syscmd|child_process|run(?:Program|NonMongoProgram))\b|(?:^|\n)\s{0,9}(?:!|host\s|:!!)/i;
/** Names that decide what another program runs. */
export const STEERING_VARIABLE =
  /^(?:PATH|IFS|ENV|BASH_ENV|PROMPT_COMMAND|SHELLOPTS|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|PYTHONBREAKPOINT|PERL5(?:OPT|LIB|DB)|RUBY(?:OPT|LIB)|npm_config_(?:script_shell|(?:user|global)config)|RIPGREP_CONFIG_PATH|JAVA_TOOL_OPTIONS|LD_\w+|DYLD_\w+|GIT_SSH\w*|GIT_CONFIG_(?:COUNT|PARAMETERS|GLOBAL|SYSTEM|(?:KEY|VALUE)_\d+)|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|GIT_EXTERNAL_DIFF|GIT_PAGER|GIT_EDITOR|PAGER|EDITOR|VISUAL|HOME|USERPROFILE|(?:LOCAL)?APPDATA|XDG_(?:CONFIG|DATA|STATE)_(?:HOME|DIRS)|ZDOTDIR|GIT_(?:COMMON_)?DIR|GIT_WORK_TREE|NODE_PATH|CLASSPATH|CARGO_HOME|GNUPGHOME|DOCKER_(?:HOST|CONFIG)|KUBECONFIG|(?:npm_config|NPM_CONFIG)_(?:registry|REGISTRY|prefix|PREFIX)|PIP_(?:EXTRA_)?INDEX_URL|PIP_CONFIG_FILE|UV_(?:DEFAULT_)?INDEX(?:_URL)?)$/;
/** Variables that only say where other programs look. A place in the session's folder, or a new empty one, holds nothing new. */
const PLACE_VARIABLE = /^(?:HOME|USERPROFILE|(?:LOCAL)?APPDATA|XDG_\w+|ZDOTDIR|GIT_(?:COMMON_)?DIR|GIT_WORK_TREE|CARGO_HOME|GNUPGHOME)$/;
const NOTHING_NEW =
  /^(?:|\/dev\/null|\/nonexistent|~|\$\{?HOME\}?|(?:\$\{?PWD\}?\/|\.\/)?\.git\/?|\.|\$\{?PWD\}?|\$\(mktemp -d\)|\$\(git rev-parse --(?:git-dir|show-toplevel)\))$/;
/** Programs that others run by such a name, elsewhere than where those of the system lie. */
const PROGRAM_VARIABLE =
  /^(?:SHELL|CC|CXX|CPP|LD|AR|MAKE|RUSTC|CARGO|PYTHON|npm_config_node_gyp)=(?!\/(?:usr\/|opt\/homebrew\/)?(?:local\/)?s?bin\/[\w.+-]+$).*[\\/]/s;
/** Those that a shell has already given on, or uses itself. */
const LASTS = /^(?:PATH|HOME|SHELL|PROMPT_COMMAND|LD_\w+|DYLD_\w+)$/;
/** Values that make these variables do nothing (`true`, `cat`), and a cache of compilers. */
const DOES_LITTLE = /^(?:(?:\/(?:usr\/)?bin\/)?(?:cat|true|false|:|less|more|echo|none|sccache|ccache)|\/dev\/null|)$/;
/** Lists of folders in which programs, or parts of them, are looked for. */
const FOLDER_LIST = /^(?:PATH|PYTHONPATH|NODE_PATH|CLASSPATH|PERL5LIB|RUBYLIB|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH)$/;
/** Where the tools of a project lie that its own scripts run. */
const OWN_TOOLS = /^(?:\$\{?PWD\}?\/|\.\/)(?:node_modules\/\.bin|vendor\/bin|\.?venv\/bin)\/?$/;
/** Options that a program is given by a variable, and that load or run something. */
const LOADS_BY_OPTION =
  /^(?:NODE_OPTIONS=.*(?:require|import|loader|-r\b)|GOFLAGS=.*exec|MAKEFLAGS=.*eval|TAR_OPTIONS=.*(?:command|action|script|program)|(?:_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAVEN_OPTS|GRADLE_OPTS)=.*agent)/;
/** Variables whose value is a command that another program runs, in small letters, and how they are set. */
const COMMAND_VARIABLE =
  /^(\$?env:)?(prompt_command|git_(?:ssh|ssh_command|external_diff|pager|editor|sequence_editor|askpass|proxy_command)|(?:man|systemd_|bat_)?pager|(?:sudo_)?editor|visual|fcedit|browser|(?:ssh|sudo)_askpass|less(?:open|close)|(?:rsync|cvs)_rsh|svn_ssh|fzf_default_command|rustc(?:_\w+)?_wrapper)(?:\[\w*\])?(?:\+?=(.*))?$/s;
/**
 * The words of the command that a variable at one of these words holds, and of those behind: `PAGER=rm`, `printf -v PROMPT_COMMAND rm`. Undefined where
 * there is none.
 */
export function commandInVariable(words: readonly string[]): readonly string[] | undefined {
  for (const [at, word] of words.entries()) {
    const [, isEnv, name, value] = COMMAND_VARIABLE.exec(word) ?? [];
    // Without a value the name of most is a word as any other.
    if (name === undefined || (value === undefined && isEnv === undefined && name !== 'prompt_command')) continue;
    return [...(value ?? '').trim().split(/\s+/), ...words.slice(at + 1)].filter((one) => one !== '' && one !== '=');
  }
  return undefined;
}

/** The most commands, or written files, of a line that are judged. */
const MOST_COMMANDS = 300;
/** Words of one command that are judged. */
const MOST_WORDS = 1000;
const MOST_WRITES = 60;
/** Pieces of a word with substitutions that are looked at. */
const MOST_PIECES = 50;
/** Values of a variable that are kept. */
const MOST_VALUES = 20;
/** UTF-16 units of a folder that `cd` leads to. */
const LONGEST_FOLDER = 500;
/** Programs around a program: `sudo env nice …`. */
const MOST_WRAPPERS = 12;
/**
 * The most words judged, in all dialects together; a word counts again for each program around it. Judging more would block the editor, and no
 * line that people read needs as many. The UTF-16 units read are bounded as well; a text within a text counts again.
 */
const MOST_JUDGED = 6000;
const MOST_READ = 120_000;
/** The remaining units; below zero the rest is not judged. */
interface Work {
  words: number;
  units: number;
}

/** Reads commands and adds what it finds in them. */
class CommandClassifier {
  /** All of what was asked. */
  readonly #text: string;
  readonly #cwd: string;
  readonly #dialect: ShellDialect;
  readonly #found: Danger[];
  readonly #work: Work;
  readonly #reach: ReachFinder;
  readonly #folder: LineFolder;
  /** Where `cd` went whose text does not say whether it is outside. */
  #unknownFolder: { readonly word: ShellWord | undefined; readonly scope: Scope } | undefined;
  readonly #variables = new LineVariables();
  /** Guarded files that the commands before this one in its pipe name. */
  #piped: readonly ShellWord[] = [];
  /** The texts that the command before this one prints; undefined where they are not in its words. */
  #printed: readonly ShellWord[] | undefined;
  #writes = 0;
  #isOutsideKnown = false;

  constructor(text: string, cwd: string, folder: string, dialect: ShellDialect, found: Danger[], work: Work, reach: ReachFinder) {
    this.#text = text;
    this.#cwd = cwd;
    this.#folder = new LineFolder(folder, text, dialect);
    this.#dialect = dialect;
    this.#found = found;
    this.#work = work;
    this.#reach = reach;
  }

  /** `base`: the place of the text in the command that was asked about; undefined where it was put together. */
  judgeText(text: string, base: number | undefined, depth: number, dialect = this.#dialect): void {
    if (depth > DEEPEST) return this.#add('unsure', undefined, true);
    if (!this.#has('units', text.length)) return;
    const { commands, complete } = shellCommands(text, dialect, MOST_COMMANDS);
    if (!complete) this.#add('unsure', undefined, true);
    if (dialect === 'powershell') this.#judgeExpressions(text, base);
    const bomb = dialect === 'posix' && text.includes('()') ? CALLS_ITSELF.exec(text) : null;
    if (bomb)
      this.#add('stops', base === undefined ? undefined : { from: base + bomb.index, to: base + bomb.index + bomb[0].length }, true);
    const before = depth > 0 ? this.#folder.beginText() : undefined;
    for (const command of commands) this.#judgeCommand(base === undefined ? command : movedBy(command, base), base === undefined, depth);
    if (before) this.#folder.endText(before);
  }

  /** Takes an amount of the work that is left. False when there is not enough: judging ends there, and the user is told. */
  #has(what: keyof Work, amount: number): boolean {
    const before = this.#work[what];
    this.#work[what] -= amount;
    if (before >= 0 && before < amount) this.#add('unsure', undefined, true);
    if (before < amount) Object.assign(this.#work, { words: -1, units: -1 });
    return before >= amount;
  }

  /** Judges what PowerShell runs without naming a program: the methods of .NET, and programs whose names are put together. */
  #judgeExpressions(text: string, base: number | undefined): void {
    for (const { index, 0: part } of text.matchAll(EXPRESSION)) {
      const [, type] = /^\[([^\]]*)\]/.exec(part) ?? [];
      if (type !== undefined && HARMLESS_TYPE.test(type)) continue;
      const at = base === undefined ? undefined : { from: base + index, to: base + index + part.length };
      this.#add(/^[&.]\s*[($]/.test(part) ? 'unsure' : 'code', at, true);
    }
  }

  #judgeCommand(command: ShellCommand, placeless: boolean, depth: number): void {
    this.#folder.enter(command);
    const { joined, instead, inputs, redirections, words } = command;
    // `< <(curl x)` reads what another program prints, and `< a` what the line has fetched.
    const reads = redirections.some(({ op, word }) => op === '<' && (word.substitutes || this.#variables.files.isFetched(word)));
    const printed = command.piped ? this.#printed : undefined;
    const scope: Scope = { placeless, depth, piped: command.piped || reads, joined, instead, inputs, printed };
    this.#printed = printedBy(words, inputs, printed);
    const fetches = redirections.length > 0 && words.some((one) => FETCHES.test(nameOf(one.text)));
    for (const { op, word } of redirections) {
      if (!this.#has('words', 1)) return;
      this.#judgeRedirection(op, word, words, fetches, scope);
    }
    // A group of commands reads it: `{ sh; } < <(curl x)`.
    const [read] = words.length === 0 ? redirections.filter(({ op, word }) => op === '<' && word.substitutes) : [];
    if (read) this.#at('pipe', read.word, scope, true);
    const [first] = words;
    const isFed = command.piped && first && /^g?xargs$/.test(nameOf(first.text));
    this.#judgeWords(isFed && words.length > 1 ? [...words, ...this.#piped] : words, scope);
    const pattern = first && patternOf(nameOf(first.text), words.slice(1));
    // `echo AGENTS.md | xargs rm`: names that a program before it prints.
    const kept = command.piped ? this.#piped.filter(({ text }) => text !== ANY_FILE || !narrows(words)) : [];
    const listed = listsAnyFile(words) && first ? [{ ...first, text: ANY_FILE }] : [];
    this.#piped = [...kept, ...listed, ...guardedNames(words.filter((word) => word !== pattern))].slice(0, MOST_VALUES);
  }

  #judgeRedirection(op: '<' | '>', word: ShellWord, words: readonly ShellWord[], fetches: boolean, scope: Scope): void {
    if (/^\/dev\/(?:tcp|udp)\//.test(word.text)) return this.#at('network', word, scope, true);
    if (op === '<' && SENDS_INPUT.test(nameOf(words[0]?.text ?? '')) && !DEVICE.test(word.text)) this.#at('sends', word, scope, true);
    if (op === '<') return this.#judgeRead(word, scope);
    this.#judgeWrite(word, scope, word.text, 'keepsOutput');
    this.#judgeGuess(word, scope);
    if (/^\/dev\/(?:sd|hd|nvme|disk|vd|mmcblk|mem|port)/.test(word.text)) this.#at('overwrites', word, scope, true);
    if ((words.length === 0 || words[0]?.text === ':') && !this.#isHarmless(word.text)) this.#at('overwrites', word, scope, false);
    if (fetches) this.#variables.files.fetches(word.text);
    else if (this.#printed) this.#variables.files.writes(word, this.#printed);
  }

  /** Judges the text of a file that the line has written, as the shell reads it or, behind the line that names one, an interpreter. */
  #judgeWritten(word: ShellWord, scope: Scope): void {
    for (const text of this.#variables.files.textsOf(word)) {
      const [, program] = /^#!.{0,200}?([\w.-]+)(?:\s+-\S*)?\s*$/m.exec(text.text.split('\n', 1)[0] ?? '') ?? [];
      if (program === undefined || SHELL.test(nameOf(program))) this.#judgeInner(text, text.text, scope);
      else if (codeIsGrave(text.text)) this.#at('code', text, scope, true);
    }
  }

  #judgeWords(all: readonly ShellWord[], scope: Scope): void {
    if (!this.#has('words', Math.min(all.length, MOST_WORDS))) return;
    if (all.length > MOST_WORDS) this.#add('unsure', undefined, true);
    const words = this.#afterAssignments(all.slice(0, MOST_WORDS), scope);
    const [first, ...args] = words;
    const isPlaced = !scope.placeless;
    // A variable may decide what the program runs, and is not the program itself.
    if (words.length < all.length && words.length > 0) this.#reach.mustName(first, isPlaced);
    if (!first) return;
    const program = nameOf(first.text);
    if ((scope.wrapped ?? 0) > MOST_WRAPPERS) return this.#at('unsure', first, scope, true);
    // `env -S "…"`, `watch "…"`: a whole line as one word.
    if (scope.wrapped && /\s/.test(first.text)) return this.#judgeInner(first, first.text, scope);
    if (this.#isVariable(first, args)) return this.#judgeVariable(first, args, scope);
    // A shell makes several words of it: `{rm,-rf,a}`.
    if (this.#dialect === 'posix' && first.plainFrom === first.from && /\{[^{}]*(?:,|\.\.)[^{}]*\}/.test(first.text))
      return this.#at('unsure', first, scope, true);
    if (scope.fromXargs && /^(?:\{\}|%|_)$/.test(first.text)) return this.#at('pipe', first, scope, true);
    if (this.#hidesProgram(first)) return this.#at('unsure', first, scope, true);
    const apart = this.#dialect === 'cmd' ? partsOfName(first) : undefined;
    if (apart) this.#judgeWords([...apart, ...args], { ...scope, wrapped: (scope.wrapped ?? 0) + 1 });
    this.#judgeProgramPath(first, scope);
    if (this.#unknownFolder && !PLACELESS.has(program)) {
      const { word = first, scope: there } = this.#unknownFolder;
      this.#at('outside', word, there, true);
      this.#unknownFolder = undefined;
    }
    this.#setVariables(program, args, scope);
    const wrapped = WRAPPERS.get(program);
    const own = wrapped === undefined ? args : args.slice(0, args.length - afterOptions(args, wrapped, program).length);
    this.#judgeServers(program, first, own, scope);
    if (wrapped !== undefined) {
      if (program === 'strace' || program === 'time') this.#judgeReport(own, scope);
      const isHere = own.some(({ text }) => /^--(?:no-install|no|offline)$/.test(text));
      if (!isHere && (program === 'npx' || program === 'bunx' || program === 'uvx')) this.#at('network', first, scope, false);
      this.#judgeRules({ program, args, operands: operandsOf(args), piped: scope.piped }, first, scope);
      const assigned = args.findIndex(({ text }) => /^\w+=/.test(text));
      this.#afterAssignments(args.slice(Math.max(0, assigned)), scope);
      const inside = {
        ...scope,
        wrapped: (scope.wrapped ?? 0) + 1,
        ...(SAME_SHELL.test(program) ? { inShell: (scope.inShell ?? 0) + 1 } : {}),
        ...(program === 'xargs' || program === 'parallel' ? { fromXargs: true } : {}),
      };
      // What follows `:::` are values, which parallel puts behind the program.
      const behind = afterOptions(args, wrapped, program).filter(({ text }) => program !== 'parallel' || !/^:{3,4}\+?$/.test(text));
      if (behind[0] && !PLACELESS.has(nameOf(behind[0].text)))
        this.#judgeFolderOptions(own, (name) => /^(?:-C|-D|--chdir|--wd(?:ir)?|-workingdirectory)$/i.test(name), scope);
      this.#reach.mustName(behind[0] ?? args.at(-1), isPlaced);
      // The lines that it reads are what runs.
      if (behind.length === 0 && (scope.fromXargs || (program === 'parallel' && scope.piped))) this.#at('pipe', first, scope, true);
      const line = program === 'env' ? own.find(({ text }) => ENV_LINE.test(text)) : undefined;
      if (line) this.#judgeInner(line, line.text.replace(ENV_LINE, ''), inside);
      // For cmd.exe a first word in quotes is the title of the window.
      const hasTitle = program === 'start' && this.#dialect === 'cmd' && behind[0] && behind[0].plainFrom !== behind[0].from;
      return this.#judgeWords(hasTitle ? afterOptions(behind.slice(1), wrapped, program) : behind, inside);
    }
    if (/^(?:npm|pnpm|yarn|bun)$/.test(program) && /^(?:exec|x|dlx|explore)$/.test(args[0]?.text ?? '')) {
      // Behind the name of a package.
      const from = args[0]?.text === 'explore' ? 2 : 1;
      const inside = afterOptions(args.slice(from), '-p --package -c --call', 'npx');
      // A tool of a package is what these are for; a shell, or a text for one, runs anything.
      const shell = inside.find(({ text }) => SHELL.test(nameOf(text))) ?? args.find(({ text }) => /^(?:-c.*|--call(?:=.*)?)$/.test(text));
      if (shell) this.#at('code', shell, scope, true);
      this.#reach.mustName(inside[0] ?? args.at(-1), isPlaced);
      this.#judgeWords(inside, { ...scope, wrapped: (scope.wrapped ?? 0) + 1 });
    }
    this.#judgeElsewhere(program, args, scope);
    const call: ProgramCall = { program, args, operands: operandsOf(args), piped: scope.piped };
    this.#judgeTexts(call, first, scope);
    this.#judgeRules({ ...call, args: [...args, ...this.#statementsFor(call, first, scope)] }, first, scope);
    this.#judgePaths(call, scope);
    this.#judgeReach(call, scope);
  }

  /** Judges the file into which a wrapper writes what it has seen; strace pipes it into a command instead. */
  #judgeReport(own: readonly ShellWord[], scope: Scope): void {
    for (const [at, word] of own.entries()) {
      const [, glued] = /^(?:-[a-zA-Z]*o|--outp?u?t?=)(.*)$/s.exec(word.text) ?? [];
      const file = glued === '' || word.text === '--output' ? own[at + 1] : glued === undefined ? undefined : { ...word, text: glued };
      if (!file) continue;
      if (/^[|!]/.test(file.text)) this.#judgeInner(file, file.text.slice(1), { ...scope, wrapped: (scope.wrapped ?? 0) + 1 });
      else this.#judgeWrite(file, scope);
    }
  }

  /** Statements that come in from outside of the words, for programs that can run a shell by them; unknown ones may be anything. */
  #statementsFor({ program, args, operands }: ProgramCall, first: ShellWord, scope: Scope): readonly ShellWord[] {
    const reader = READS_STATEMENTS.find(({ name }) => name.test(program));
    if (!reader || args.some(({ text }) => reader.instead.test(text)) || operands.length >= (reader.operands ?? MOST_WORDS)) return [];
    const texts = [...scope.inputs, ...(scope.printed ?? [])];
    if (scope.piped && (texts.length === 0 || texts.some(({ substitutes }) => substitutes))) this.#at('pipe', first, scope, true);
    for (const text of texts) if (RUNS_BY_STATEMENT.test(text.text)) this.#at('code', text, scope, true);
    return texts;
  }

  /** Keeps what words of the shell put into variables, and judges those that decide what runs. */
  #setVariables(program: string, args: readonly ShellWord[], scope: Scope): void {
    if (program === 'for' && args[1]?.text === 'in' && args[0]) this.#variables.set(args[0].text, args.slice(2).flatMap(namesPrintedBy));
    else if (/^(?:read|readarray|mapfile|getopts|printf|declare|typeset|local|export|select)$/.test(program))
      for (const word of args.slice(0, MOST_VALUES)) {
        const name = word.text.replace(/[+[=].*$/s, '');
        this.#variables.set(name, program === 'read' && scope.piped ? [...this.#piped, UNKNOWN] : []);
        // Many lines add a folder of the system's tools to the path.
        if (name !== word.text && this.#steers(name, word.text)) this.#at('unsure', word, scope, name !== 'PATH');
      }
  }

  /** Finds what else the program runs, and what it may change. */
  #judgeReach(call: ProgramCall, scope: Scope): void {
    const { program, args, operands } = call;
    const isPlaced = !scope.placeless;
    this.#reach.judge(call, WRITERS.has(program) && program !== 'sed', isPlaced);
    if (SHELL.test(program) || POWERSHELL.test(program) || program === 'cmd') {
      const at = args.findIndex(
        ({ text }, index) => !/^[-+]/.test(text) && !/^(?:[-+]O|-o|--rcfile|--init-file)$/.test(args[index - 1]?.text ?? ''),
      );
      this.#reach.mustName(program === 'cmd' || POWERSHELL.test(program) || at < 0 ? args.at(-1) : args[at], isPlaced);
    } else if (RUNNERS.has(program)) this.#reach.mustName(args.at(-1), isPlaced);
    else if (program === 'source' || program === '.') this.#reach.mustName(args[0], isPlaced);
    else {
      const texts = args.map(({ text }) => text);
      const from = OWN_OPTIONS.test(program) ? undefined : runsFrom(program, texts);
      // These take a version, or the name of something else, before the program.
      if (from !== undefined && /^(?:rustup|nvm|fnm|ip|opam|gcloud|az|aws|ecs)$/.test(program)) this.#reach.mustName(args.at(-1), isPlaced);
      // The program follows that word directly, where no options do.
      if (from !== undefined) this.#reach.mustName(args.slice(from).find(({ text }) => !text.startsWith('-')) ?? args.at(-1), isPlaced);
      if (/^(?:g?find|bfs)$/.test(program))
        for (const [at, text] of texts.entries()) if (FINDS_AND_RUNS.test(text)) this.#reach.mustName(args[at + 1] ?? args[at], isPlaced);
      const interpreter = INTERPRETERS.find(({ name }) => name.test(program));
      const option = interpreter ? texts.findIndex((text) => interpreter.option.test(text) || text === interpreter.sub) : -1;
      if (option >= 0) this.#reach.mustName(args[option + 1] ?? args[option], isPlaced);
      if (interpreter) this.#reach.runsScript(operands[0], isPlaced);
    }
  }

  /** Judges a command for another account, computer or container. */
  #judgeElsewhere(program: string, args: readonly ShellWord[], scope: Scope): void {
    const inside = { ...scope, wrapped: (scope.wrapped ?? 0) + 1 };
    if (program === 'su' || program === 'runas' || program === 'pkexec' || program === 'script') {
      const at = args.findIndex(({ text }) => /^(?:-c|--command)$/.test(text));
      const word = at < 0 ? (program === 'su' ? undefined : args.at(-1)) : args[at + 1];
      if (word) this.#judgeInner(word, word.text, inside);
    } else if (program === 'ssh' || /^(?:docker|podman|kubectl|nerdctl)$/.test(program)) {
      const operands = program === 'ssh' ? sshOperands(args) : operandsOf(args);
      const runs = ({ text }: ShellWord) => SHELL.test(nameOf(text)) || RULES.has(nameOf(text));
      const from = program === 'ssh' ? 1 : operands.findIndex((word, at) => at > 0 && runs(word));
      const [command] = from < 0 ? [] : operands.slice(from);
      if (command) this.#judgeRemote(args.slice(args.indexOf(command)), inside);
      for (const input of program === 'ssh' ? scope.inputs : []) this.#judgeRemote([input], inside);
    } else if (CARRIERS_HERE.test(program)) {
      const texts = args.map(({ text }) => text);
      const end = texts.indexOf('--');
      const from = runsFrom(program, texts);
      if (from === undefined) return;
      const behind =
        end >= from ? args.slice(end + 1) : afterOptions(args.slice(from), '-n -p -P --name --with --python --extra --group', program);
      const command = behind[0] ?? args.at(-1);
      if (command && scope.piped && STANDARD_INPUT.test(command.text)) return this.#at('pipe', command, scope, true);
      this.#judgeWords(end < from && TAKES_PLACE.test(program) ? behind.slice(1) : behind, inside);
    } else if (RUNNERS.has(program)) {
      // These do not all say where the command begins; a program that may do harm shows it, and so does a text with blanks.
      const isKnown = ({ text }: ShellWord) => SHELL.test(nameOf(text)) || RULES.has(nameOf(text)) || WRAPPERS.has(nameOf(text));
      const at = args.findIndex(isKnown);
      if (at >= 0) this.#judgeWords(args.slice(at), inside);
      for (const word of args.slice(0, at < 0 ? args.length : at)) if (/\s/.test(word.text)) this.#judgeInner(word, word.text, inside);
    }
  }

  /** Judges a remote command. Its paths are not on this computer, so only deleting, stopping and the like counts. */
  #judgeRemote(words: readonly ShellWord[], scope: Scope): void {
    const before = this.#found.length;
    const isKnown = this.#isOutsideKnown;
    const [first] = words;
    if (words.length === 1 && first && /\s/.test(first.text)) this.#judgeInner(first, first.text, scope);
    else this.#judgeWords(words, scope);
    const kept = this.#found.splice(before).filter(({ kind }) => kind !== 'outside' && kind !== 'steers');
    this.#found.push(...kept);
    this.#isOutsideKnown = isKnown;
  }

  /** Words behind `NAME=value`. */
  #afterAssignments(words: readonly ShellWord[], scope: Scope): readonly ShellWord[] {
    let at = 0;
    for (const word of words) {
      const [, name, value = ''] = /^(\w+)\+?=(.*)$/s.exec(word.text) ?? [];
      if (name === undefined && !(at === 0 && word.text === '&')) break;
      at += 1;
      this.#judgeRead(word, scope, value);
      this.#reach.holds(value);
      if (name !== undefined) this.#variables.set(name, [{ ...word, text: value }]);
    }
    const [command] = words.slice(at);
    for (const word of words.slice(0, at)) {
      const name = word.text.replace(/\+?=.*$/s, '');
      // Only the parts into which it takes a line.
      const isForRead = name === 'IFS' && /^(?:read|mapfile|readarray)$/.test(command?.text ?? '');
      if (command && !isForRead && this.#steers(name, word.text)) this.#at('unsure', word, scope, true);
      // These hold for the rest of the line, too.
      else if (!command && (LASTS.test(name) || LOADS_BY_OPTION.test(word.text)) && this.#steers(name, word.text))
        this.#at('unsure', word, scope, name !== 'PATH');
    }
    return words.slice(at);
  }

  /** True for an assignment that decides what other programs run. */
  #steers(name: string, assignment: string): boolean {
    const value = assignment.slice(assignment.indexOf('=') + 1);
    if (LOADS_BY_OPTION.test(assignment) || PROGRAM_VARIABLE.test(assignment)) return true;
    if (PLACE_VARIABLE.test(name) && NOTHING_NEW.test(value)) return false;
    const holdsCommand = COMMAND_VARIABLE.test(assignment.toLowerCase());
    if (DOES_LITTLE.test(value) && (holdsCommand || name.startsWith('GIT_CONFIG_'))) return false;
    return (STEERING_VARIABLE.test(name) && !this.#listsOwnFolders(name, value)) || holdsCommand;
  }

  /** True where a list of folders names only those before and, as literal text, the session's own; for programs, those of its tools. */
  #listsOwnFolders(name: string, value: string): boolean {
    if (this.#dialect !== 'posix' || !FOLDER_LIST.test(name) || value === '' || value.length > LONGEST_FOLDER) return false;
    return value.split(':').every((one) => {
      if (one === `$${name}` || one === `\${${name}}`) return true;
      if (name === 'PATH') return OWN_TOOLS.test(one);
      const folder = one.replace(/^\$(?:PWD|\{PWD\})(?=\/|$)/, '.');
      return !name.includes('LD_') && folder !== '' && !isAbsolute(folder) && !/[$`]/.test(folder) && !this.#isOutside(folder);
    });
  }

  /**
   * True for a variable of PowerShell, which runs nothing by itself: a call of it is found with the other expressions. The same line may be for
   * bash, where the variables of the system are in large letters, and others have to be set before.
   */
  #isVariable({ text, substitutes }: ShellWord, args: readonly ShellWord[]): boolean {
    if (this.#dialect === 'cmd' || substitutes || !isWindowsFolder(this.#cwd)) return false;
    const [, name, rest = ''] = /^\$(\w+)(.*)$/s.exec(text) ?? [];
    if (name === undefined) return false;
    if (this.#dialect === 'powershell') return true;
    if (name === 'env' && rest.startsWith(':')) return true;
    if (rest.startsWith('.') && !/\.(?:exe|com|cmd|bat|sh)$/i.test(rest)) return true;
    return rest === '' && /[a-z]/.test(name) && /^(?:[-+*/]?=|[-+*/.]|-\w+|in)$/.test(args[0]?.text ?? '') && !this.#isSet(name);
  }

  /** True when a POSIX shell may have set the variable in this text. */
  #isSet(name: string): boolean {
    return SETS_VARIABLES.test(this.#text) || this.#text.includes(`${name}=`) || this.#text.includes(`${name}+=`);
  }

  /** Judges the command whose output a variable takes, and a variable that decides what other programs run. */
  #judgeVariable(first: ShellWord, args: readonly ShellWord[], scope: Scope): void {
    const [, name = '', value = ''] = /^\$(?:env:)?(\w+)[-+*/]?=(.*)$/is.exec(first.text) ?? [];
    const isApart = name === '' && /^[-+*/]?=$/.test(args[0]?.text ?? '');
    const takes = isApart || name !== '';
    const variable = isApart ? first.text.replace(/^\$(?:env:)?/i, '') : name;
    const assignment = `${variable.toUpperCase()}=${isApart ? args[1]?.text : value}`;
    if (takes && (STEERING_VARIABLE.test(variable.toUpperCase()) || LOADS_BY_OPTION.test(assignment)))
      this.#at('unsure', first, scope, true);
    if (!takes) this.#judgeRead(first, scope);
    const behind = takes || this.#dialect === 'posix' ? args.slice(isApart ? 1 : 0) : [];
    const words = value === '' ? behind : [{ ...first, text: value, expands: value.includes('$') }, ...behind];
    if (words.length > 0) this.#judgeWords(words, { ...scope, wrapped: (scope.wrapped ?? 0) + 1 });
    for (const word of args) this.#judgeRead(word, scope);
  }

  /** True unless the text behind the last folder is literal and so names the program. */
  #hidesProgram({ expands, substitutes, text, from, plainFrom }: ShellWord): boolean {
    // The shell looks for it: `/bin/r?`.
    if (this.#dialect === 'posix' && plainFrom === from && /^\/.*[?*]/.test(text)) return true;
    if (!expands) return false;
    const tail = this.#dialect === 'posix' ? text.slice(text.lastIndexOf('/') + 1) : baseName(text);
    return tail === '' || /[$%`(){}]/.test(tail) || (substitutes && !/[)`"]\/[\w.-]+$/.test(text));
  }

  /** Judges a program that lies elsewhere, or that the same line fetched. */
  #judgeProgramPath(word: ShellWord, scope: Scope): void {
    // cmd.exe looks for a program in the folder where it is first.
    if (this.#variables.files.isFetched(word) && (this.#dialect === 'cmd' || /[\\/]/.test(word.text)))
      this.#at('unsure', word, scope, true);
    if (/[\\/]/.test(word.text)) this.#judgeWritten(word, scope);
    this.#judgeScript(word, scope);
  }

  /** Judges where a file lies that is run. */
  #judgeScript(word: ShellWord, scope: Scope): void {
    const { text } = word;
    const isPath = /[\\/]/.test(text) && !isAbsolute(text);
    if (isPath && this.#variables.files.isBelowFetched(text, this.#variables.folders)) this.#at('unsure', word, scope, true);
    const isElsewhere = LIES_ELSEWHERE.test(text) || this.#isOnDrive(text);
    const isKnown = isPublic(text) && !TEMPORARY.test(text);
    if (isElsewhere && !isKnown && this.#isFirstOutside(text)) this.#at('outside', word, scope, true);
  }

  /** Judges texts that shells, `eval` and interpreters run. */
  #judgeTexts(call: ProgramCall, first: ShellWord, scope: Scope): void {
    const { program, args, operands } = call;
    if (SHELL.test(program) || POWERSHELL.test(program) || program === 'cmd') return this.#judgeShell(call, first, scope);
    if (program === 'eval' || program === 'iex' || program === 'invoke-expression') return this.#judgeEval(call, first, scope);
    if (program === 'source' || program === '.') {
      const [file] = operands;
      if (file) this.#judgeScript(file, scope);
      if (file) this.#judgeWritten(file, scope);
      if (file?.substitutes || (file && scope.piped && STANDARD_INPUT.test(file.text))) this.#at('pipe', file, scope, true);
      else if (file?.expands || (file && this.#variables.files.isFetched(file))) this.#at('unsure', file, scope, true);
      return;
    }
    if (program === 'trap' || program === 'alias' || program === 'bind') {
      for (const word of operands) this.#judgeInner(word, word.text.replace(/^[\w-]+=|^"[^"]*"\s*:/, ''), scope);
      return;
    }
    if (COMPILER.test(program)) {
      const at = args.findIndex(({ text }) => WRAPPER_OPTION.test(text));
      const word = args[at]?.text.includes('=') ? args[at] : args[at + 1];
      if (at >= 0 && word) this.#judgeInner(word, word.text.replace(WRAPPER_OPTION, '').replaceAll(',', ' '), scope);
      return;
    }
    const interpreter = INTERPRETERS.find(({ name }) => name.test(program));
    if (interpreter || RUNS_FILES.test(program)) this.#judgeScriptFile(call, scope);
    if (READS_COMMANDS.test(program) && scope.piped && !args.some(({ text }) => /^--?(?:run|command|batch)$/.test(text)))
      return this.#at('pipe', first, scope, true);
    if (program === 'find') return this.#judgeFind(args, scope);
    if (program === 'fd' || program === 'fdfind') {
      const at = args.findIndex(({ text }) => /^(?:-[a-z]*[xX]|--exec(?:-batch)?)$/.test(text));
      if (at >= 0)
        this.#judgeWords([...args.slice(at + 1), ...guardedNames(args.slice(0, at))], {
          ...scope,
          fromXargs: true,
          wrapped: (scope.wrapped ?? 0) + 1,
        });
      return;
    }
    if (interpreter) this.#judgeInterpreter(interpreter, call, first, scope);
  }

  #judgeShell(call: ProgramCall, first: ShellWord, scope: Scope): void {
    const { program, args } = call;
    const operands = operandsBesides(call, SHELL_VALUE);
    if (program === 'cmd' && args.some(({ text }) => CMD_RUNS.test(text))) return this.#judgeCmd(args, scope);
    const isOption = POWERSHELL.test(program)
      ? (text: string) => /^[-/]c(?:o(?:m(?:m(?:a(?:n(?:d)?)?)?)?)?)?$/i.test(text)
      : (text: string) => /^-\w*c$/.test(text);
    const encoded = args.find(({ text }) => POWERSHELL.test(program) && /^[-/]e(?:nc?|ncoded\w*|c)?$/i.test(text));
    if (encoded) this.#at('unsure', encoded, scope, true);
    const at = args.findIndex(({ text }) => isOption(text));
    const rest = at < 0 ? [] : args.slice(at + 1);
    const [script] = rest;
    for (const input of scope.inputs) this.#judgeInner(input, input.text, scope);
    if (script) {
      if (script.substitutes || (scope.piped && script.text === '-')) return this.#at('pipe', script, scope, true);
      if (scope.fromXargs && /\{\}|\$[@\d*]/.test(script.text)) return this.#at('pipe', script, scope, true);
      const joined = SHELL.test(program) ? script.text : rest.map(({ text }) => text).join(' ');
      return this.#judgeInner(script, joined, scope, SHELL.test(program) ? 'posix' : 'powershell');
    }
    if (POWERSHELL.test(program) && !encoded) this.#judgeOperandsOfPowerShell(args, scope);
    const [file] = operands;
    if (file) this.#judgeScript(file, scope);
    if (file) this.#judgeWritten(file, scope);
    if (file?.substitutes) this.#at('pipe', file, scope, true);
    else if (!file || STANDARD_INPUT.test(file.text)) {
      if (scope.piped || scope.fromXargs) this.#at('pipe', first, scope, true);
    } else if (file.expands || this.#variables.files.isFetched(file)) this.#at('unsure', file, scope, true);
    else if (scope.piped && args.some(({ text }) => text === '-s')) this.#at('pipe', first, scope, true);
  }

  /** Judges a script, in an option, that another program prints: `make -f -`. */
  #judgeScriptFile({ program, args }: ProgramCall, scope: Scope): void {
    for (const [at, word] of args.entries()) {
      const [option, behind, glued = behind] = SCRIPT_FILE.exec(word.text) ?? [];
      if (option === undefined) continue;
      const file = glued === undefined ? args[at + 1] : { ...word, text: glued };
      if (!file) continue;
      if (RUNS_FILES.test(program) && NAMES_SCRIPT.test(option)) this.#judgeScript(file, scope);
      const reads = STANDARD_INPUT.test(file.text);
      if (file.substitutes || (scope.piped && reads)) this.#at('pipe', file, scope, true);
      else if (reads && scope.inputs.length > 0) this.#at('code', file, scope, true);
      else if (RUNS_FILES.test(program) && this.#variables.files.isFetched(file)) this.#at('unsure', file, scope, true);
    }
  }

  /** Everything behind `/c` runs, also when no blank follows it. */
  #judgeCmd(args: readonly ShellWord[], scope: Scope): void {
    const at = args.findIndex(({ text }) => CMD_RUNS.test(text));
    const option = args[at];
    const glued = option?.text.replace(CMD_RUNS, '') ?? '';
    const rest = args.slice(at + 1);
    const script = glued === '' ? rest[0] : option;
    if (!script) return;
    if (script.substitutes) return this.#at('pipe', script, scope, true);
    const joined = [...(glued === '' ? [] : [glued]), ...rest.map(({ text }) => text)].join(' ');
    // Delayed expansion: `!NAME!` is put in when the line runs.
    const isDelayed = args.slice(0, at + 1).some(({ text }) => /\/v/i.test(text));
    if (isDelayed && joined.includes('!')) this.#at('unsure', script, scope, true);
    this.#judgeInner(script, joined, scope, 'cmd');
  }

  /** Windows PowerShell runs its first operand as a command, version 7 as a script. */
  #judgeOperandsOfPowerShell(args: readonly ShellWord[], scope: Scope): void {
    const isOption = (text: string) => /^[-/][a-z]+$/i.test(text);
    const at = args.findIndex(({ text }, index) => !isOption(text) && !POWERSHELL_VALUE.test(args[index - 1]?.text ?? ''));
    const [script] = at < 0 ? [] : args.slice(at);
    if (!script || script.text === '-' || /\.ps1$/i.test(script.text)) return;
    const rest = args.slice(at).map(({ text }) => text);
    this.#judgeInner(script, rest.join(' '), scope, 'powershell');
  }

  #judgeEval({ args }: ProgramCall, first: ShellWord, scope: Scope): void {
    const text = args.map((one) => one.text).join(' ');
    if (args.some((one) => one.substitutes) || args.length === 0) return this.#at('pipe', args[0] ?? first, scope, true);
    if (args.some((one) => one.expands)) return this.#at('unsure', args[0] ?? first, scope, true);
    this.#judgeInner(args[0] ?? first, text, scope);
  }

  #judgeFind(args: readonly ShellWord[], scope: Scope): void {
    const inside = { ...scope, fromXargs: true, wrapped: (scope.wrapped ?? 0) + 1 };
    const named = guardedNames(args).slice(0, MOST_VALUES);
    for (let at = 0; at < args.length; at += 1) {
      if (!/^-(?:exec|execdir|ok|okdir)$/.test(args[at]?.text ?? '')) continue;
      const end = args.findIndex((one, index) => index > at && (one.text === ';' || one.text === '+'));
      const to = end < 0 ? args.length : end;
      this.#judgeWords([...args.slice(at + 1, to), ...named], inside);
      at = to;
    }
  }

  #judgeInterpreter({ option, sub, values }: (typeof INTERPRETERS)[number], call: ProgramCall, first: ShellWord, scope: Scope): void {
    const { program, args } = call;
    const named = values ? operandsBesides(call, values) : call.operands;
    const runs = (program === 'deno' || program === 'bun') && named[0]?.text === 'run';
    const operands = runs ? named.slice(1) : named;
    const at = args.findIndex(({ text }) => option.test(text) || (sub !== undefined && text === sub));
    const glued = at < 0 ? undefined : /(?:=|^-\w*c|^\+)(.+)$/.exec(args[at]?.text ?? '')?.[1];
    const script = at < 0 ? undefined : glued === undefined ? args[at + 1] : args[at];
    const isEditor = EDITOR.test(program);
    const isFed = isEditor || operands.length === 0 || STANDARD_INPUT.test(operands[0]?.text ?? '');
    const scripts = isEditor ? editorScripts(args) : script ? [script] : [];
    const texts = [...scripts, ...(isFed ? scope.inputs : []), ...(isEditor ? (scope.printed ?? []) : [])];
    const [file] = operands;
    const written = texts.length === 0 && file ? this.#variables.files.textsOf(file) : [];
    for (const text of [...texts, ...written]) {
      if (text.substitutes) this.#at('pipe', text, scope, true);
      const runsShell =
        isEditor && /(?:^|[|:+\n])\s{0,9}(?:[\d%,$.']{0,20})?(?:r(?:ead)?\s{0,9})?!|w(?:rite)?\s{1,9}!|\bsystem\b|\bterm/.test(text.text);
      if (isEditor) this.#judgeEdits(text, scope);
      this.#at('code', text, scope, text.expands || runsShell || codeIsGrave(text.text));
      for (const path of quotedPaths(text.text)) if (!isPublic(path) && this.#isFirstOutside(path)) this.#at('outside', text, scope, true);
    }
    if (texts.length === 0 && file) this.#judgeScript(file, scope);
    const readsText = operands.length === 0 || STANDARD_INPUT.test(file?.text ?? '');
    if (runs && /^https?:/i.test(file?.text ?? '')) this.#at('pipe', file ?? first, scope, true);
    if (texts.length === 0 && scope.piped && readsText) this.#at('pipe', first, scope, true);
    else if (texts.length === 0 && scope.fromXargs && operands.length === 0) this.#at('pipe', first, scope, true);
    else if (texts.length === 0 && file?.substitutes) this.#at('pipe', file, scope, true);
    else if (texts.length === 0 && file && this.#variables.files.isFetched(file)) this.#at('unsure', file, scope, true);
  }

  /** Judges the files that an editor's commands write, and those that steer wherever these name them. */
  #judgeEdits(text: ShellWord, scope: Scope): void {
    for (const [at, { 1: path = '' }] of [...text.text.matchAll(EDITOR_WRITES)].entries())
      if (at < MOST_VALUES) this.#judgeWrite(text, scope, path);
    const parts = text.text.split(/[\s"'`()|!>:]+/).slice(0, MOST_PIECES);
    const why = parts.map(reasonOfGuess).find((one) => one !== undefined);
    if (why) this.#add('steers', scope.placeless ? undefined : { from: text.from, to: text.to }, undefined, why);
  }

  #judgeInner(word: ShellWord, text: string, scope: Scope, dialect?: ShellDialect): void {
    const before = this.#found.length;
    const base = scope.placeless || word.plainFrom === undefined || text !== word.text ? undefined : word.plainFrom;
    this.judgeText(text, base, scope.depth + 1, dialect);
    if (base !== undefined || scope.placeless) return;
    // A danger without a place of its own is shown by the word around it.
    for (const [at, danger] of this.#found.entries())
      if (at >= before && !danger.at) this.#found[at] = { ...danger, at: { from: word.from, to: word.to } };
  }

  #judgeRules(call: ProgramCall, first: ShellWord, scope: Scope): void {
    for (const rule of RULES.get(call.program) ?? []) this.#judgeRule(rule, call, first, scope);
    if (/^(?:tee|sponge)$/.test(call.program)) {
      const texts = scope.printed ?? (scope.inputs.length > 0 ? scope.inputs : undefined);
      for (const word of call.operands)
        if (texts) this.#variables.files.writes(word, texts);
        else if (call.piped) this.#variables.files.fetches(word.text);
    }
    for (const path of broughtBy(call))
      if (path === '') this.#variables.files.unpacks();
      else this.#variables.files.fetches(path);
    if (!FETCHES.test(call.program) && !ASKS_SERVERS.test(call.program)) return;
    // What a command of this computer prints goes to the server with the address.
    const told = call.args.find(
      ({ text, substitutes }, at) =>
        substitutes &&
        !OUTPUT_FILE.test(call.args[at - 1]?.text ?? '') &&
        (READS_FILE.test(text) || (ADDRESS.test(text) && /\$\(|`/.test(text.replace(TELLS_LITTLE, '')))),
    );
    if (told) this.#at('sends', told, scope, true);
    for (const { text } of writtenFiles(call)) this.#variables.files.fetches(text);
    for (const [at, { text }] of call.args.entries()) {
      const target = /^(?:-[a-zA-Z]*o|--output|-OutFile|--output-document)$/i.test(text) ? call.args[at + 1] : undefined;
      if (target) {
        this.#variables.files.fetches(target.text);
        this.#judgeWrite(target, scope);
      }
      if (/^https?:/i.test(text)) this.#variables.files.fetches(text.replace(/[?#].*$/, ''));
    }
  }

  #judgeRule(rule: Rule, call: ProgramCall, first: ShellWord, scope: Scope): void {
    if (rule.kind === 'publishes' && call.args.some(({ text }) => /^--(?:help|dry-run(?:=client)?)$/.test(text))) return;
    const hit = rule.when === undefined ? true : rule.when(call, scope.fromXargs === true);
    if (hit === false) return;
    const shown = hit === true ? call.args.at(-1) : hit;
    const from = first.from;
    const to = shown && shown.to > from && shown.to - from < 200 ? shown.to : first.to;
    this.#add(rule.kind, scope.placeless ? undefined : { from, to: hit === true ? first.to : to }, rule.grave, rule.why);
  }

  /** Folders of this computer that a container gets. */
  #judgeMounts({ args }: ProgramCall, scope: Scope): void {
    for (const [at, word] of args.entries()) {
      const glued = /^(?:-v|--volume=|--mount=)(.+)$/.exec(word.text)?.[1];
      const value = glued ?? (/^(?:-v|--volume|--mount)$/.test(args[at - 1]?.text ?? '') ? word.text : undefined);
      if (value === undefined) continue;
      const source = /(?:source|src)=([^,]+)/.exec(value)?.[1] ?? value.replace(/^([A-Za-z]:[^:]*|[^:]*):.*$/, '$1');
      if (looksOutside(source) && this.#isFirstOutside(source)) this.#at('outside', word, scope, true);
    }
  }

  /** Judges paths of other servers. Windows connects to a server, and tells it who the user is, also for a program that shows names only. */
  #judgeServers(program: string, first: ShellWord, args: readonly ShellWord[], scope: Scope): void {
    if (!isWindowsFolder(this.#cwd) || ONLY_TEXT.has(program)) return;
    const pattern = patternOf(program, args);
    for (const [at, word] of args.entries()) {
      const isText = word === pattern || (program === 'git' && GIT_TEXT.test(`${args[0]?.text} ${args[at - 1]?.text}`));
      const paths = isText ? [] : networkPaths(word.text, LABELS.has(program));
      if (paths.some((path) => isOnOtherServer(path, [this.#cwd], 'win32'))) this.#at('outside', word, scope, true);
    }
    // cmd.exe ends its own names at a backslash: `dir\\server\share`.
    const [, behind = ''] =
      /^@?(?:cd|chdir|copy|del|dir|erase|md|mkdir|move|pushd|rd|ren|rmdir|start|type|vol)[.:]?([\\/]{2}.*)$/is.exec(first.text) ?? [];
    if (this.#dialect === 'cmd' && isOnOtherServer(behind, [this.#cwd], 'win32')) this.#at('outside', first, scope, true);
  }

  /** Judges files that formatters, commands of Git and containers write by their names. */
  #judgeNamed({ program, args, operands }: ProgramCall, scope: Scope): void {
    if (FORMATS.test(program) && args.some(({ text }) => /^(?:-i|-w|--write|--in-?place(?:=.*)?|--fix\S*|--apply\S*)$/.test(text)))
      for (const word of operands) {
        this.#judgeWrite(word, scope);
        // What a formatter makes of a file says the same as before.
        this.#judgeGuess(word, scope, LAYS_OUT.test(program) ? false : undefined);
      }
    const createsByGit = program === 'git' && /^(?:init|clone|worktree)$/.test(operands[0]?.text ?? '');
    const movesInGit = program === 'git' && /^(?:mv|rm)$/.test(operands[0]?.text ?? '');
    const copiesOut = /^(?:docker|podman|nerdctl|kubectl|oc)$/.test(program) && operands.some(({ text }, at) => at < 2 && text === 'cp');
    if (movesInGit || copiesOut || createsByGit)
      for (const word of operands.slice(copiesOut ? -1 : 1))
        if (!/^[\w.-]+:/.test(word.text)) this.#judgeWrite(word, scope, word.text, operands[0]?.text === 'rm' ? 'deletes' : undefined);
  }

  #judgePaths(call: ProgramCall, scope: Scope): void {
    const { program, args, operands } = call;
    if (/^(?:docker|podman|nerdctl|docker-compose)$/.test(program)) this.#judgeMounts(call, scope);
    const sed = program === 'sed' ? sedEffects(args) : undefined;
    const [word] = args;
    if (word) for (const path of sed?.writes ?? []) this.#judgeWrite(word, scope, path);
    const writes = WRITERS.has(program) && !(sed && !sed.inPlace);
    for (const file of [...writtenFiles(call), ...writtenTexts(call)]) this.#judgeGuess(file, scope);
    for (const file of writtenFiles(call)) this.#judgeWrite(file, scope);
    this.#judgeNamed(call, scope);
    const skipped = WITHOUT_PATHS.has(program) && !(program === 'git' && args.some(({ text }) => GIT_WITH_PATHS.has(text)));
    if (program === 'set' && /^-[A-Za-z]*e/.test(args[0]?.text ?? '') && isAlone(scope) && !scope.wrapped) this.#folder.endsOnFailure();
    if (/^(?:cd|pushd|popd|chdir|set-location)$/.test(program)) this.#folder.leaves();
    if (program === 'popd') return this.#goBack(args[0], scope, this.#variables.returns());
    if (program === 'cd' || program === 'pushd' || program === 'set-location' || program === 'chdir') {
      const [named] = operands.length > 1 ? operands.filter(({ text }) => !/^\/d$/i.test(text)) : operands;
      const top = named && /^\$\(git rev-parse --show-toplevel\)((?:\/[\w./-]*)?)$/.exec(named.text);
      // The repository is what the user has opened.
      const folder = top ? { ...named, text: `${this.#cwd}${top[1] ?? ''}`, expands: false, substitutes: false } : named;
      if (program === 'cd' && args.some(({ text }) => text === '-')) return this.#goBack(args[0], scope, this.#variables.before);
      if (program === 'pushd' && !folder) return this.#goBack(args[0], scope, undefined);
      // A shell looks for the folder in those of CDPATH first.
      if (this.#variables.isSet('CDPATH') && folder && !/^\.{0,2}[\\/]|^\.{1,2}$/.test(folder.text))
        this.#at('outside', folder, scope, true);
      this.#variables.leaves(program === 'pushd');
      // `cd` without a folder changes to the home folder.
      if (!folder && program === 'cd' && this.#dialect === 'posix') this.#add('outside', undefined, true);
      if (!folder) return;
      this.#variables.goesTo(this.#publicFolderBehind(folder));
      const mayComeBack = this.#mayComeBack(folder);
      if (!folder.expands && !isAbsolute(folder.text)) this.#variables.entered(folder.text);
      this.#reach.names(this.#placeOf(folder.text), folder, 'read');
      const variable = this.#variableOf(folder);
      const values = variable && this.#variables.valuesOf(variable.name);
      if (variable && !values) {
        // Only what runs in an unknown folder matters, not going there. The shell may stay there, so no rule answers.
        this.#unknownFolder = { word: folder, scope };
        this.#reach.changes();
      } else if (variable && values) {
        if (values.some((one) => this.#isOutside(`${one}${variable.behind}`))) this.#at('outside', folder, scope, true);
      } else if (mayComeBack) {
        this.#unknownFolder = { word: folder, scope };
        this.#reach.changes();
      } else if (!isPublic(folder.text) && this.#isOutside(folder.text)) this.#at('outside', folder, scope, true);
      else if (!folder.expands && this.#folder.now.length < LONGEST_FOLDER)
        this.#folder.goesTo(isAbsolute(folder.text) ? folder.text : `${this.#folder.now}/${folder.text}`, placeOfCd(scope));
      return;
    }
    const readsGit = program === 'git' && operands.some(({ text }) => LOOKS_ONLY.test(text));
    const runsIn = (name: string) => isFolderOption(program, name);
    if (TASK_RUNNERS.has(program) && !readsGit) this.#judgeFolderOptions(args, runsIn, scope);
    const pattern = patternOf(program, args);
    const builds = CONTAINERS.test(program) && operands.slice(0, 2).some(({ text }) => text === 'build');
    const context = builds ? operands.at(-1) : undefined;
    const copied = writes ? this.#onlyCopied(call) : [];
    const how = DELETERS.test(program) ? 'deletes' : program === 'tee' ? 'keepsOutput' : undefined;
    for (const [at, word] of args.entries()) {
      if (word === pattern) continue;
      const value = /^--?[\w-]+=(.+)$|^\w+=(.+)$/.exec(word.text);
      const path = value?.[1] ?? value?.[2] ?? word.text;
      const before = args[at - 1]?.text ?? '';
      const isFile = CONTAINERS.test(program) && CONTAINER_FILE.test(/^--?[\w-]+(?==)/.exec(word.text)?.[0] ?? before);
      const isPlace = runsIn(before) || isFile || word === context || /^(?:-i|-F|--target-directory)$/.test(before);
      const isOutput = OUTPUT_OPTION.test(before) || OUTPUT_OPTION.test(/^(--?[\w-]+)=/.exec(word.text)?.[1] ?? '');
      if (isOutput) this.#judgeWrite(word, scope, path);
      if (skipped && !isPlace) continue;
      // A place on another computer.
      if (/^(?:scp|rsync)$/.test(program) && isRemote(word)) continue;
      if (writes && !copied.includes(word)) this.#judgeWrite(word, scope, path, how);
      else this.#judgeRead(word, scope, path);
    }
  }

  /** Judges the folder in which an option lets a program run: it may write there, also where everybody may read. */
  #judgeFolderOptions(args: readonly ShellWord[], isOption: (name: string) => boolean, scope: Scope): void {
    for (const [at, word] of args.entries()) {
      const [, name = '', behind, glued = behind] = /^(--?[\w-]+?)(?:=(.*)|(?<=^-C)(.+))?$/s.exec(word.text) ?? [];
      if (!isOption(name)) continue;
      const folder = glued === undefined ? args[at + 1] : { ...word, text: glued };
      if (folder && !folder.expands && this.#isFirstOutside(folder.text)) this.#at('outside', word, scope, true);
    }
  }

  /** True for `cd a; …; cd ..`, which leads outside only where the first one failed: what follows matters, going there does not. */
  #mayComeBack({ text, expands }: ShellWord): boolean {
    const last = this.#variables.folders.at(-1);
    const isBack = !expands && /^(?:\.\.\/?)+$/.test(text) && last !== undefined && this.#isOutside(text);
    return isBack && !isOutside(`${last}/${text}`, this.#cwd);
  }

  /** Goes to a folder where the line was before; where it was in none, only the shell that is running knows which folder that is. */
  #goBack(word: ShellWord | undefined, scope: Scope, place: Folder | undefined): void {
    if (place) return this.#variables.goesTo(place.publicFolder);
    this.#unknownFolder = { word, scope };
    this.#reach.changes();
  }

  /** The public folder outside in which the commands behind `cd` run, perhaps. */
  #publicFolderBehind({ text }: ShellWord): string | undefined {
    if (isAbsolute(text)) return isPublic(text) && this.#isOutside(text) ? text : undefined;
    return this.#variables.publicFolder === undefined ? undefined : `${this.#variables.publicFolder}/${text}`;
  }

  /** The path as the session's folder sees it. */
  #placeOf(path: string): string {
    return this.#folder.now === this.#cwd || isAbsolute(path)
      ? relativePath(path, this.#cwd)
      : `${relativePath(this.#folder.now, this.#cwd)}/${path}`;
  }

  /** Operands of a program that it reads and copies into a file of another name, or to a place outside. */
  #onlyCopied({ program, args, operands }: ProgramCall): readonly ShellWord[] {
    if (/^(?:g?tar|bsdtar)$/.test(program))
      return /^-?[a-zA-Z]*c/.test(args[0]?.text ?? '') ? operandsBesides({ args, operands }, /f$/) : [];
    const target = operands.at(-1);
    if (!COPIERS.test(program) || !target || args.some(({ text }) => NO_PLAIN_COPY.test(text))) return [];
    const isFile = PLAIN_FILE.test(target.text) && operands.length === 2;
    return isFile || isRemote(target) || (!target.expands && this.#isOutside(target.text)) ? operands.slice(0, -1) : [];
  }

  /** `deletes`: nothing is left of the file, which of build tools' files runs nothing. */
  #judgeWrite(word: ShellWord, scope: Scope, path = word.text, how?: 'deletes' | 'keepsOutput'): void {
    if (this.#isHarmless(path) || /^\w+:\/\//.test(path)) return;
    const isOption = path === word.text && path.startsWith('-');
    if (this.#variables.publicFolder !== undefined && !isAbsolute(path) && !isOption && !this.#isOutsideKnown)
      this.#at('outside', word, scope, true);
    this.#reach.names(this.#placeOf(path), word, 'written');
    if (this.#looksOutside(path) && this.#isFirstOutside(path)) {
      // Many lines keep what a program prints for the next one.
      const isKept = how === 'keepsOutput' && TEMPORARY.test(path) && isPublic(path);
      if (isKept) this.#found.push({ kind: 'outside', ...(scope.placeless ? {} : { at: { from: word.from, to: word.to } }), grave: false });
      else this.#at('outside', word, scope, true);
    }
    // Where a variable lies that the line does not set is unknown.
    const variable = word.expands && path === word.text ? this.#variableOf(word) : undefined;
    if (variable && !this.#variables.isSet(variable.name) && !this.#isOutsideKnown) this.#at('outside', word, scope, true);
    this.#writes += 1;
    if (this.#writes > MOST_WRITES) {
      if (this.#writes === MOST_WRITES + 1) this.#add('unsure', undefined, true);
      return;
    }
    this.#reach.writesTo(this.#placeOf(path), word);
    const why = this.#guardOf(path, word);
    if (why && why !== 'name' && !(how === 'deletes' && why === 'build'))
      this.#found.push({ kind: 'steers', why, ...(scope.placeless ? {} : { at: { from: word.from, to: word.to } }) });
    else if (why === 'name' && path.search(HIDDEN) < 0 && !/[*?"<>|]/.test(path) && !this.#isCollapsed(path) && this.#isTaken(path))
      this.#at('hidden', word, scope, true);
  }

  /** Judges what a program writes where the shell, or another program, spells the name: `A*.md`, `$f` in a loop, `$(ls *.md)`. */
  #judgeGuess(word: ShellWord, scope: Scope, grave?: false): void {
    const { text, expands, substitutes } = word;
    if (text.startsWith('-') || !/[*?[{$`]/.test(text) || text.length > LONGEST_FOLDER) return;
    const parts = substitutes ? text.split(/[\s(){},"'`$]+/).slice(0, MOST_PIECES) : [];
    if (substitutes && substitutesAnyFile(word)) parts.push(ANY_FILE);
    for (const one of [text, unescaped(text).replace(/^\$/, ''), ...(expands ? this.#variables.valuesIn(text) : []), ...parts]) {
      if (one === '' || !this.#has('words', 1)) continue;
      const why = reasonOfGuess(one);
      if (!why) continue;
      this.#add('steers', scope.placeless ? undefined : { from: word.from, to: word.to }, grave, why);
      return;
    }
  }

  /** True where a system takes the name for that of another file: Windows for many, and any that shares the files with it for guarded ones. */
  #isTaken(path: string): boolean {
    if (isWindowsFolder(this.#cwd)) return true;
    const plain = guardReason(relativePath(path, this.#cwd).replace(/(?::[^/]*|[. ])+(?=\/|$)/g, ''));
    return plain !== undefined && plain !== 'name';
  }

  /** Why a written file is guarded: in the session's folder, in one where the line went before, or by a value of a variable. */
  #guardOf(path: string, word: ShellWord): GuardReason | undefined {
    const below = relativePath(path, this.#cwd);
    const folders = isAbsolute(path) ? [] : this.#variables.folders.map((folder) => relativePath(`${folder}/${path}`, this.#cwd));
    const values = word.expands ? this.#variables.valuesIn(path) : [];
    const written = this.#dialect === 'posix' ? (bracesWrittenOut(path) ?? []) : [];
    const reasons = [below, ...folders, ...values, ...written].map(guardReason);
    return reasons.find((one) => one !== undefined && one !== 'name') ?? reasons[0];
  }

  #judgeRead(word: ShellWord, scope: Scope, written = word.text): void {
    // As bash writes a text with escapes: $'/etc/passwd'.
    const local = written.replace(/^file:\/\/(?:localhost)?(?=\/)/i, '');
    const path = this.#dialect === 'posix' ? local.replace(/^\$(?=[/~]|\.\.\/)/, '') : local;
    // The expanded path is unknown, but its parts are known.
    if (written === word.text && /(?<!\$)\{|`|\$\(/.test(path))
      for (const piece of path.split(/[\s(){},"'`$]+/).slice(0, MOST_PIECES)) if (piece !== '') this.#judgeRead(word, scope, piece);
    if (path.length > 400 || /\s\S*\s|\n/.test(path) || this.#isHarmless(path) || isPublic(path)) return;
    const inPublic =
      this.#variables.publicFolder !== undefined && !isAbsolute(path) && /[\w.]\/\w/.test(path)
        ? `${this.#variables.publicFolder}/${path}`
        : '';
    if (inPublic !== '' && !isPublic(inPublic.replace(/^\/+/, '/')) && !this.#isOutsideKnown) this.#at('outside', word, scope, true);
    this.#reach.names(this.#placeOf(path), word, 'read');
    if (this.#looksOutside(path) && this.#isFirstOutside(path)) this.#at('outside', word, scope, true);
  }

  /** True for a device that keeps nothing and, on Windows, for a switch. */
  #isHarmless(word: string): boolean {
    return DEVICE.test(word) || (isWindowsFolder(this.#cwd) && /^\/[a-z?]{1,2}(?::.*)?$/i.test(word));
  }

  #looksOutside(path: string): boolean {
    // A switch.
    if (isWindowsFolder(this.#cwd) && /^\/[\w?-]+(?::[^\\/]*)?$/.test(path)) return false;
    return looksOutside(path) || this.#isOnDrive(path);
  }

  /** A path that begins at the root of this drive, or in the folder of another one: `\a`, `D:a`. A POSIX shell takes the backslashes away. */
  #isOnDrive(path: string): boolean {
    return this.#dialect !== 'posix' && /^(?:\\|[A-Za-z]:(?![A-Za-z]:))/.test(path);
  }

  /** True for a path of Windows whose backslashes a POSIX shell has taken away. */
  #isCollapsed(path: string): boolean {
    return this.#dialect === 'posix' && /^[A-Za-z]:(?![\\/])/.test(path) && isWindowsFolder(this.#cwd);
  }

  /** The variable that a folder begins with: `"$d"`, `"${d}/src"`, and not `$HOME` or `$d/..`. */
  #variableOf({ text, substitutes }: ShellWord): { readonly name: string; readonly behind: string } | undefined {
    if (substitutes || this.#dialect !== 'posix' || isWindowsFolder(this.#cwd) || /(?:^|\/)\.\.(?:\/|$)/.test(text)) return undefined;
    const [, open, name, close, behind = ''] = /^\$(\{?)(\w+)(\}?)((?:\/[\w./-]*)?)$/.exec(text) ?? [];
    return name === undefined || open?.length !== close?.length || FOLDERS_OUTSIDE.test(name) ? undefined : { name, behind };
  }

  #isOutside(path: string): boolean {
    return isOutside(path, this.#cwd, this.#folder.now);
  }

  /** True for the first path outside. It decides, and the others are not read, because a line may name thousands. */
  #isFirstOutside(path: string): boolean {
    return !this.#isOutsideKnown && this.#isOutside(path);
  }

  #at(kind: DangerKind, word: ShellWord, { placeless }: Scope, grave: boolean): void {
    this.#add(kind, placeless ? undefined : { from: word.from, to: word.to }, grave);
  }

  #add(kind: DangerKind, at: Danger['at'], grave: boolean | undefined, why?: GuardReason): void {
    if (kind === 'outside') this.#isOutsideKnown = true;
    const isSettled = grave === true || (grave === false && kind === 'steers');
    this.#found.push({ kind, ...(at ? { at } : {}), ...(why ? { why } : {}), ...(isSettled ? { grave } : {}) });
  }
}

/** A folder where a line was: a public one outside, if that is known. */
interface Folder {
  readonly publicFolder: string | undefined;
}

/** The state that a line keeps for its later commands: the values of its variables, the folders where it goes, and the files that it makes. */
class LineVariables {
  readonly files = new LineFiles();
  #publicFolder: string | undefined;
  readonly #values = new Map<string, readonly string[]>([['PWD', ['.']]]);
  readonly #unknown = new Set<string>();
  #before: Folder | undefined;
  readonly #pushed: Folder[] = [];
  readonly #folders: string[] = [];

  isSet(name: string): boolean {
    return this.#values.has(name) || this.#unknown.has(name);
  }
  /** A folder outside that everybody may read, to which a `cd` led that may have succeeded. */
  get publicFolder(): string | undefined {
    return this.#publicFolder;
  }
  goesTo(publicFolder: string | undefined): void {
    this.#publicFolder = publicFolder;
  }
  /** The folder before the last `cd` of the line; undefined where there was none. */
  get before(): Folder | undefined {
    return this.#before;
  }
  /** Relative folders into which the line went, each below the one before: it may be in any of them. */
  get folders(): readonly string[] {
    return this.#folders;
  }
  entered(folder: string): void {
    const last = this.#folders.at(-1);
    if (this.#folders.length < MOST_VALUES && folder.length < LONGEST_FOLDER)
      this.#folders.push(folder, ...(last === undefined ? [] : [`${last}/${folder}`]));
  }
  /** A `cd` or, with `pushes`, a `pushd` goes on from here. */
  leaves(pushes: boolean): void {
    this.#before = { publicFolder: this.#publicFolder };
    if (pushes && this.#pushed.length < MOST_VALUES) this.#pushed.push(this.#before);
  }
  /** The folder that the last `pushd` of the line left. */
  returns(): Folder | undefined {
    return this.#pushed.pop();
  }

  /** All that it may hold; undefined where nobody knows. */
  valuesOf(name: string): readonly string[] | undefined {
    return this.#unknown.has(name) ? undefined : this.#values.get(name);
  }

  /** The possible values of a text with variables, as far as they are known. */
  valuesIn(text: string): readonly string[] {
    let texts = [''];
    let from = 0;
    for (const { 0: part, 1: braced, 2: plain, index } of text.matchAll(/\$(?:\{(\w+)\}|(\w+))/g)) {
      const values = this.#values.get(braced ?? plain ?? '') ?? [];
      const before = text.slice(from, index);
      if (texts.length * values.length > MOST_VALUES) return [];
      texts = texts.flatMap((one) => values.map((value) => one + before + value));
      from = index + part.length;
    }
    return from === 0 ? [] : texts.map((one) => one + text.slice(from));
  }

  /** Adds to what it may hold; without a value it may hold anything. */
  set(name: string, values: readonly ShellWord[]): void {
    const before = this.#values.get(name) ?? [];
    const known = values.filter(({ expands }) => !expands).slice(0, MOST_VALUES - before.length);
    if (known.length > 0) this.#values.set(name, [...before, ...known.map(({ text }) => text)]);
    if (known.length < values.length || values.length === 0) this.#unknown.add(name);
  }
}

/** A value that nobody knows. */
const UNKNOWN: ShellWord = { text: '', from: 0, to: 0, expands: true, substitutes: false };
/** A word, and what a program within it may print: `$(ls *.md)`. */
function namesPrintedBy(word: ShellWord): readonly ShellWord[] {
  if (!word.substitutes) return [word];
  const parts = word.text.split(/[\s(){},"'`$]+/).slice(0, MOST_PIECES);
  return [word, ...parts.filter((one) => reasonOfGuess(one) !== undefined).map((text) => ({ ...word, text, expands: false }))];
}

/** The context in which a program runs. */
interface Scope {
  /** The text was put together, so its offsets do not apply to the asked command. */
  readonly placeless: boolean;
  readonly depth: number;
  readonly piped: boolean;
  readonly joined: boolean;
  readonly instead: boolean;
  readonly inputs: readonly ShellWord[];
  /** The output of the command before it in the pipe, as far as it is known. */
  readonly printed: readonly ShellWord[] | undefined;
  /** Another program appends the last arguments. */
  readonly fromXargs?: boolean;
  /** The number of programs wrapped around it. */
  readonly wrapped?: number;
  /** The number of these that are words of the shell itself, so that it changes the shell's folder. */
  readonly inShell?: number;
}

/** The texts that a command prints, where its words show them: `echo a`, `printf 'a\\nb'`, `cat <<E`. */
function printedBy(
  words: readonly ShellWord[],
  inputs: readonly ShellWord[],
  printed: readonly ShellWord[] | undefined,
): readonly ShellWord[] | undefined {
  const [first, ...args] = words;
  const program = nameOf(first?.text ?? '');
  const operands = operandsOf(args);
  if (program === 'cat' || program === 'tee') {
    if (program === 'cat' && operands.some(({ text }) => text !== '-')) return undefined;
    return inputs.length > 0 ? inputs : printed;
  }
  const [one] = operands;
  if (!one || !/^(?:echo|printf)$/.test(program)) return undefined;
  if (operands.length === 1 && !one.text.includes('\\')) return [one];
  const text = operands.map((word) => unescaped(word.text)).join(program === 'echo' ? ' ' : '\n');
  const expands = operands.some((word) => word.expands);
  return [{ text, from: one.from, to: operands.at(-1)?.to ?? one.to, expands, substitutes: operands.some((word) => word.substitutes) }];
}

/** A text as `printf` writes it, without the escapes that draw nothing. */
function unescaped(text: string): string {
  return text.replace(/\\(?:n|x([\da-fA-F]{1,2})|0?([0-7]{1,3}))/g, (_, hex?: string, octal?: string) =>
    hex === undefined && octal === undefined ? '\n' : String.fromCharCode(Number.parseInt(hex ?? octal ?? '', hex === undefined ? 8 : 16)),
  );
}

/** A function that starts itself twice, without an end: `:(){ :|:& };:`. */
const CALLS_ITSELF = /(?<![\w:.])([\w:.]{1,40})\s{0,9}\(\)\s{0,9}\{\s{0,9}\1\s{0,9}[|&]\s{0,9}\1\s{0,9}&/;
/** Words before a command that the same shell runs, and whose success is that of the command. */
const SAME_SHELL = /^(?:then|do|else|elif|if|while|until|command|builtin)$/;
/** True for a command of the line itself that runs whatever became of the one before. */
function isAlone({ piped, joined, instead, depth }: Scope): boolean {
  return depth === 0 && !piped && !joined && !instead;
}

function placeOfCd(scope: Scope): CdPlace {
  const { wrapped = 0, inShell = 0, piped, instead } = scope;
  return { apart: wrapped > inShell, piped, instead, alone: isAlone(scope) };
}

/** Options of a shell with a value that is no script. */
const SHELL_VALUE = /^(?:[-+][a-z]*[oO]|--(?:rcfile|init-file))$/;
/** Options of cmd.exe up to the one that runs the rest of the line. */
const CMD_RUNS = /^(?:\/[a-z](?::\w*)?)*?\/[ckr]/i;
/** Options of PowerShell that take a value, also cut. */
const POWERSHELL_VALUE = /^[-/](?:ex\w*|ep|f(?:i\w*)?|v\w*|ver\w*|wi\w*|w|wd|wor\w*|in\w*|i?f|o\w*|psc\w*|conf\w*|settings\w*|custom\w*)$/i;
/** A call of .NET, of a method that reaches beyond the value it belongs to, or of a program whose name is put together. */
const EXPRESSION =
  /\[[\w.`]{1,200}\]\s{0,9}::\s{0,9}\w{1,100}|\.(?:Download\w*|Upload\w*|OpenRead|Delete|MoveTo|CopyTo|Kill|Invoke\w*|Run|Exec|ShellExecute\w*|WriteAll\w*)\s{0,9}\(|(?<![&\w.)\]'"])[&.]\s{0,9}(?:\(|\$\w)/gi;
/** Words by which a POSIX shell sets variables, besides `=`. */
const SETS_VARIABLES = /\b(?:for|read|readarray|mapfile|getopts|printf|declare|typeset|local|select|eval|let)\b/;
/** Variables of the system, whose folders are known to lie elsewhere. */
const FOLDERS_OUTSIDE = /^(?:HOME|OLDPWD|TMPDIR|TMP|TEMP|APPDATA|USERPROFILE|XDG_\w+|CDPATH|PATH|HOMEPATH|LOGNAME|USER|MAIL|SHELL|\d+)$/;
/** Programs for which it does not matter where they run, or that show names only, and words around commands. */
const PLACELESS = new Set(
  `cd pushd popd pwd dirs echo printf true false : exit return done fi esac test [ [[ for do then else elif if while until ! ls dir tree stat file which du df
  basename dirname realpath date uname whoami`.split(/\s+/),
);
const HARMLESS_TYPE =
  /^(?:System\.)?(?:math|string|char|int\w*|long|double|decimal|bool\w*|datetime\w*|timespan|guid|version|uri|regex|convert|text\.\w+|text\.regularexpressions\.\w+|io\.path|globalization\.\w+|stringcomparison|stringsplitoptions)$/i;

/** Substitutions of which many addresses of downloads are made. */
const TELLS_LITTLE = /\$\((?:uname|arch|date|dpkg --print-architecture|nproc|go env|node -v|lsb_release|getconf)[\w\s%+-]*\)/g;
/** An address with or without its beginning, of which a part may be in a variable. */
const ADDRESS = /^(?:https?:|[\w-]*\$\(|(?:\$\{?\w+\}?|[\w.-]+)[/?])|\)[\w.-]*\.\w+$/i;
/** The text of a file, or all variables, in a word. */
const READS_FILE = /(?:\$\(|`)\s{0,9}(?:cat|base64|head|tail|xxd|gzip|tar|env|printenv|<)(?![\w-])/;
const OUTPUT_FILE = /^(?:-[a-zA-Z]*[oOc]|--output\S*|--dump-header|--cookie-jar|-outfile)$/i;
/** Programs that give another computer what they read. */
const SENDS_INPUT = /^(?:ssh|https?|xh|sendmail|mailx?|telnet)$/;
const ASKS_SERVERS = /^(?:ping|dig|nslookup|host|http|https|wget2|xh)$/;
const FETCHES = /^(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c|http|base64|xxd|openssl|certutil)$/;

/** Programs whose arguments name what they write. */
const WRITERS = new Set(
  `rm rmdir del erase unlink shred mv move cp copy tee touch mkdir ln install dd rd md ren rename rename-item xcopy robocopy clear-content tee-object
  truncate chmod chown chgrp sed remove-item ri set-content sc out-file add-content new-item ni move-item mi copy-item cpi mklink rsync scp unzip tar
  export-csv start-transcript patch mkfifo`.split(/\s+/),
);
/** Those that only take files away. */
const DELETERS = /^(?:rm|rmdir|del|erase|unlink|rd|remove-item|ri|shred)$/;
/** Those that copy, and their options for links and for a folder that is named first. */
const COPIERS = /^(?:cp|copy|copy-item|cpi|install|rsync|scp)$/;
const NO_PLAIN_COPY = /^(?:-[a-zA-Z]*[tsld]|--(?:target-directory|link|symbolic-link|directory|remove-source-files)(?:=|$))/;
/** Programs that show names only, or whose arguments are words or paths of another computer. */
const WITHOUT_PATHS = new Set(
  `echo printf test [ [[ ls dir tree stat file which where du df basename dirname realpath readlink export set unset local declare gh az aws gcloud kubectl
  heroku docker podman docker-compose ssh adb git npm pnpm yarn tr expr write-host write-output get-childitem gci test-path resolve-path for case select return exit history kill http https
  let seq date uname whoami id hostname sleep true false read man help tput stty ulimit mount umount cargo go dotnet reg schtasks crontab psql mysql redis-cli mongo mongosh bazel bazelisk
  buck buck2 pants`.split(/\s+/),
);
/** Commands of Git whose arguments are files and folders of anywhere. */
const GIT_WITH_PATHS = new Set('apply clone init worktree archive bundle am'.split(' ').concat('--no-index'));
/** Programs whose first operand is a pattern or a program. */
const PATTERN_FIRST = new Set(`grep egrep fgrep zgrep rg ag ack sed awk gawk mawk jq yq select-string sls findstr perl`.split(' '));
/** Programs that open nothing their arguments name. */
const ONLY_TEXT = new Set(['echo', 'printf', 'write-host', 'write-output', 'rem', 'expr', 'tr']);
/** Programs for which `//a/b` is a place of their own: a target, or a path in a container. */
const LABELS = new Set('bazel bazelisk buck buck2 pants docker podman nerdctl docker-compose kubectl ssh adb aws gh'.split(' '));
/** Commands of Git with an option before a text. */
const GIT_TEXT = /^(?:(?:commit|tag|merge) (?:-a?m|--message)|(?:log|shortlog) (?:-S|-G|--grep))$/;
/** Programs that write the files they are given where an option says so. */
const FORMATS =
  /^(?:[yjx]q|tomlq|dasel|prettier|eslint|biome|stylelint|markdownlint\S*|gofmt|goimports|rustfmt|black|ruff|isort|autopep8|yapf|shfmt|clang-format|dprint|taplo|xmlstarlet|crudini|sponge|ex|dos2unix)$/;
/** Those that change how a text looks, and nothing that it says. */
const LAYS_OUT =
  /^(?:prettier|eslint|biome|stylelint|markdownlint\S*|gofmt|goimports|rustfmt|black|ruff|isort|autopep8|yapf|shfmt|clang-format|dprint|taplo|dos2unix)$/;
/** Endings of files, which no folder has. */
const PLAIN_FILE = /[\w-]\.(?:bak|backup|old|orig|save|tmp|md|txt)$/;
/** Options of many programs for the file or folder that they write. */
const OUTPUT_OPTION = /^(?:-o|--output(?:-(?:file|dir|directory|document))?|--out(?:-?(?:dir|file))?|--target-dir|-P|--directory-prefix)$/;
/** Commands of Git that change nothing in any repository. */
const LOOKS_ONLY = /^(?:diff|log|show|blame|status|ls-\w+|grep|cat-file|rev-\w+|shortlog|describe|for-each-ref|version|help)$/;
/** Programs whose working folder lies in a container. */
const CONTAINERS = /^(?:docker|podman|nerdctl|docker-compose|kubectl|oc)$/;
/** Their options for a file or folder of this computer that they read. */
const CONTAINER_FILE = /^(?:-f|--file|--filename|--env-file|--project-directory)$/;
/** Places for installed programs and temporary files, which hold no data of the user. */
const PUBLIC =
  /^(?:\/(?:usr|opt|lib\w*|bin|sbin|sys|nix|snap|Applications|System(?!\/Volumes)|Library|opt)(?:\/|$)|\/(?:tmp|private\/tmp|var\/tmp|var\/folders)(?:\/|$)|\/proc\/(?:cpuinfo|meminfo|version|loadavg|uptime)|\/etc\/(?:os-release|lsb-release|\w+-release|timezone|hosts|localtime|resolv\.conf|shells|debian_version|issue)$|\/$|[A-Za-z]:[\\/](?:Windows|Program Files|Program Files \(x86\))(?:[\\/]|$))/i;

const DEVICE = /^(?:\/dev\/(?:null|stdout|stderr|stdin|tty|zero|u?random|fd\/\d+)|nul|\$null)$/i;
const LIES_ELSEWHERE = /^(?:[/~]|[A-Za-z]:[\\/]|\\\\|\$\{?HOME\b)|(?:^|[\\/])\.\.(?:[\\/]|$)/;
/** Where every program of this computer may put what another one then runs. */
const TEMPORARY = /^\/(?:tmp|private\/tmp|var\/tmp|var\/folders|dev\/shm)\//;

/** True for a place whose files may be read without a mark. */
export function isPublic(path: string): boolean {
  return PUBLIC.test(path) && !/(?:^|[\\/])\.\.(?:[\\/]|$)/.test(path);
}

/** True for the name of an option that holds the folder in which the program runs. */
function isFolderOption(program: string, name: string): boolean {
  if (CONTAINERS.test(program) && /^--work-?dir$/.test(name)) return false;
  return name === '-C' || FOLDER_OPTION.test(optionName(name));
}

function looksOutside(path: string): boolean {
  return /^(?:[/~]|\\\\|[A-Za-z]:[\\/]|\$\{?(?:HOME|OLDPWD|PROFILE\b|XDG_)|\$\{?env:|%[^%]+%)|(?:^|[\\/:])\.\.(?:[\\/]|$)/i.test(path);
}

/** The operand that is a pattern and no path. */
function patternOf(program: string, args: readonly ShellWord[]): ShellWord | undefined {
  if (args.some(({ text }) => /^(?:-e|-f|--regexp|--file)/.test(text))) return undefined;
  const operands = operandsOf(args);
  if (program === 'git' && args[0]?.text === 'grep') return operands[1];
  if (/^[gm]?awk$/.test(program)) return operandsBesides({ args, operands }, /^-[ivF]$/)[0];
  return PATTERN_FIRST.has(program) ? operands[0] : undefined;
}

/** Parts of a word that may be paths of a server: all of it, a value behind a flag, or one of a list. */
function networkPaths(word: string, hasLabels: boolean): readonly string[] {
  if (word.length > LOOKED_AT || !/[\\/]{2}|\\\?\?/.test(word)) return [];
  const isAddress = /^[a-z][\w+.-]+:\/\//i.test(word) && !/^file:/i.test(word);
  return word.split(/[=,;]/).flatMap((piece) => {
    const path = piece
      .slice(piece.lastIndexOf('::') + 1)
      .replace(/^:|^[-/][\w.-]*:|^-\w(?=[\\/]{2})|^\/\w(?=\\\\)|^@/, '')
      .replace(/^file:(?:\/\/\/(?=[a-z]:))?/i, '');
    if (!/^(?:[\\/]{2,}(?:[?.][\\/]|[^\s\\/(){}|*?"'<>+^]+(?:[\\/]|$))|\\\?\?\\)/.test(path)) return [];
    // A switch in Git Bash: `//c`.
    if (/^\/\/[a-z?]{1,2}$/i.test(path) || (path.startsWith('//') && (hasLabels || isAddress))) return [];
    return [path];
  });
}

/** Paths in the quotes of a program's text. */
function quotedPaths(text: string): readonly string[] {
  return [...text.matchAll(/(["'`])((?:\/|~\/|\.\.\/|[A-Za-z]:[\\/])[^"'`\n]{0,200})\1/g)]
    .map((match) => match[2] ?? '')
    .filter((path) => path.length > 2 && !/^\/(?:api|v\d|[*^([\\])/.test(path));
}

/** Why a word of which the shell makes the names of files may stand for one that steers; files of build tools do not count. */
function reasonOfGuess(word: string): GuardReason | undefined {
  for (const one of bracesWrittenOut(word) ?? [word]) {
    const glob = one.includes('{') ? undefined : guessAt(one, false);
    const why = glob === undefined ? guardReason(one) : globReason(glob);
    if (why !== undefined && why !== 'name' && why !== 'build') return why;
  }
  return undefined;
}

/** Words of a call whose texts it changes, or replaces, for programs whose words all may be such files. */
function writtenTexts({ program, args, operands }: ProgramCall): readonly ShellWord[] {
  if (COPIES.test(program)) return operands.slice(-1);
  if (!CHANGES_TEXT.test(program)) return [];
  if (program !== 'sed') return operands;
  if (!sedEffects(args).inPlace) return [];
  const files = operandsBesides({ args, operands }, /^(?:-[a-zA-Z]*[ef]|--(?:expression|file))$/);
  return files.slice(args.some(({ text }) => /^(?:-[a-zA-Z]*[ef]|--(?:expression|file))/.test(text)) ? 0 : 1);
}
const COPIES = /^(?:cp|mv|copy|copy-item|cpi|move|move-item|mi|install|ln)$/;
const CHANGES_TEXT = /^(?:sed|tee|tee-object|truncate|set-content|sc|out-file|add-content|clear-content)$/;

/** Folders that a call brings from elsewhere: of a clone the name, of an archive none, as an empty text. */
function broughtBy({ program, args, operands }: ProgramCall): readonly string[] {
  const [first, address, folder] = operands;
  if (/^(?:git|hg|gh|glab)$/.test(program)) {
    const from = operands.findIndex(({ text }) => text === 'clone');
    if (from < 0) return [];
    const named = operands[from + 2] ?? operands[from + 1];
    return named ? [named.text.replace(/\/+$/, '').replace(/\.git$/, '')] : [];
  }
  if (/^(?:npm|pnpm|yarn)$/.test(program)) return first?.text === 'pack' && address && !folder ? [''] : [];
  return UNPACKS.find(({ name }) => name.test(program))?.when(args) ? [''] : [];
}
const UNPACKS: readonly { readonly name: RegExp; readonly when: (args: readonly ShellWord[]) => boolean }[] = [
  {
    name: /^(?:g?tar|bsdtar)$/,
    when: ([first, ...args]) =>
      /^-?[a-zA-Z]*x/.test(first?.text ?? '') || args.some(({ text }) => /^(?:-[a-zA-Z]*x|--extract$|--get$)/.test(text)),
  },
  { name: /^unzip$/, when: (args) => !args.some(({ text }) => /^-[a-zA-Z]*[cltpvzZ]/.test(text)) },
  { name: /^(?:7z[azr]?|unrar)$/, when: ([first]) => /^[ex]$/.test(first?.text ?? '') },
  { name: /^cpio$/, when: (args) => args.some(({ text }) => /^(?:-[a-zA-Z]*i|--extract$)/.test(text)) },
  { name: /^expand-archive$/, when: () => true },
];

/** Words of a program that looks for files, or prints names, that name guarded ones; not those that it leaves out. */
function guardedNames(words: readonly ShellWord[]): readonly ShellWord[] {
  const from = words.findLastIndex(({ text }) => text === '-prune') + 1;
  const leavesOut = words.some(({ text }) => /^(?:-[a-zA-Z]*v|--invert-match)$/.test(text));
  if (leavesOut) return [];
  return words.slice(from, from + MOST_WORDS).flatMap((word, at) => {
    const before = words[from + at - 1]?.text ?? '';
    const text = /^(?:-e|--extension)$/.test(before) ? `*.${word.text}` : word.text.replace(/^--include=/, '');
    if (text.length > LONGEST_FOLDER || /^[-!]|[\\^$|]/.test(text)) return [];
    const isNegated = /^(?:-not|!|-E|--exclude|-g|--glob)$/.test(words[from + at - 2]?.text ?? '') || /^(?:-E|--exclude)$/.test(before);
    // A wildcard alone says nothing of what is looked for.
    if (isNegated || /^[*?./]+$/.test(text)) return [];
    return reasonOfGuess(text) === undefined ? [] : [{ ...word, text }];
  });
}

/** A text that stands for all files that a program lists. */
const ANY_FILE = '*';
/** True for a program that lists files of the folder by none of their names, so that any may be among them. */
function listsAnyFile([first, ...args]: readonly ShellWord[]): boolean {
  const program = nameOf(first?.text ?? '');
  const operands = operandsOf(args).map(({ text }) => text);
  const has = (pattern: RegExp) => args.some(({ text }) => pattern.test(text));
  const isHere = (paths: readonly string[]) => paths.every((path) => /^(?:\.[\\/]?|\*{1,2}|:\/)$/.test(path));
  if (program === 'git')
    return operands[0] === 'ls-files'
      ? isHere(operands.slice(1))
      : operands[0] === 'grep' && has(/^-[a-zA-Z]*l/) && isHere(operands.slice(2));
  if (program === 'find' || program === 'bfs') return isHere(operands.slice(0, 1)) && !has(/^-(?:i?name|i?path|i?regex|exec|delete)/);
  if (/^(?:fd|fdfind)$/.test(program)) return isHere(operands) && !has(/^(?:-e|-g|--extension|--glob|-[a-zA-Z]*[xX])/);
  if (program === 'ls') return isHere(operands);
  if (program === 'grep')
    return (
      has(/^(?:-[a-zA-Z]*l|--files-with)/) && has(/^(?:-[a-zA-Z]*[rR]|--recursive$)/) && !has(/^--include/) && isHere(operands.slice(1))
    );
  if (program === 'rg')
    return (
      !has(/^(?:-[gt]|--glob|--type)/) &&
      (has(/^--files$/) ? isHere(operands) : has(/^(?:-[a-zA-Z]*l|--files-with)/) && isHere(operands.slice(1)))
    );
  return false;
}
/** True for a word that the shell replaces by such a list. */
function substitutesAnyFile(word: ShellWord): boolean {
  const [, parens, ticks] = /\$\(([^()|;&]{1,200})\)|`([^`|;&]{1,200})`/.exec(word.text) ?? [];
  const words = (parens ?? ticks ?? '').trim().split(/\s+/);
  return listsAnyFile(words.map((text) => ({ ...word, text: text.replace(/^(["'])(.*)\1$/, '$2'), expands: false, substitutes: false })));
}
/** True for a program that lets only some lines through. */
function narrows([first, ...args]: readonly ShellWord[]): boolean {
  return (
    /^(?:[ef]?grep|rg|ag|ack|awk|gawk|fzf)$/.test(nameOf(first?.text ?? '')) &&
    !args.some(({ text }) => /^(?:-[a-zA-Z]*v|--invert-match$)/.test(text))
  );
}

/** Before the name of a program that a system has beside one of its own: `grm`. */
const GNU = /^g(?=(?:cat|chmod|chown|cp|dd|ln|mkdir|mv|rm|rmdir|sed|shred|tee|touch|truncate|unlink|uniq)$)/;

function nameOf(word: string): string {
  const name = baseName(word)
    .toLowerCase()
    .replace(/^[@&]/, '')
    .replace(/\.(?:exe|com|cmd|bat|ps1)$/, '')
    .replace(GNU, '');
  return unversioned(name);
}

function operandsOf(args: readonly ShellWord[]): readonly ShellWord[] {
  return args.filter(({ text }) => !/^-./.test(text) && text !== '--');
}

/** The command that a wrapper runs: the words behind its options, their values, assignments and durations. */
function afterOptions(args: readonly ShellWord[], withValue: string, program: string): readonly ShellWord[] {
  const values = withValue.split(' ').filter(Boolean);
  let at = program === 'if' ? conditionOfCmd(args) : 0;
  while (at < args.length) {
    const text = args[at]?.text ?? '';
    if (values.includes(text)) at += 2;
    else if (/^-/.test(text) || /^\w+=/.test(text) || (program !== 'npx' && /^\d+(?:\.\d+)?[smhd]?$/.test(text))) at += 1;
    else if (program === 'timeout' && /^\/\w+$/.test(text)) at += 1;
    else if ((program === 'flock' || program === 'chroot') && at === 0) at += 1;
    else if (program === 'start' && /^\/(?:d|node|affinity)$/i.test(text)) at += 2;
    else if (program === 'start' && (text === '' || /^\/\w+$/.test(text))) at += 1;
    else break;
  }
  return args.slice(at);
}

/** The words of a condition of cmd.exe: `not exist a`, `a==b`, `a equ b`; none where it is the command of a POSIX shell. */
function conditionOfCmd(args: readonly ShellWord[]): number {
  let at = 0;
  while (/^(?:\/i|not)$/i.test(args[at]?.text ?? '')) at += 1;
  if (/^(?:exist|defined|errorlevel|cmdextversion)$/i.test(args[at]?.text ?? '')) return at + 2;
  if (/^(?:equ|neq|lss|leq|gtr|geq|==)$/i.test(args[at + 1]?.text ?? '')) return at + 3;
  return /==/.test(args[at]?.text ?? '') ? at + 1 : at;
}

/** The words of a name that cmd.exe ends at the first of these signs: `del/s/q`, `rd,/s`. Undefined where the name does not matter. */
function partsOfName(word: ShellWord): readonly ShellWord[] | undefined {
  const [, name = '', rest = ''] = /^([^\\/,;=]+)([/,;=].*)$/s.exec(word.text) ?? [];
  const program = nameOf(name);
  if (
    !RULES.has(program) &&
    !WRAPPERS.has(program) &&
    !WRITERS.has(program) &&
    !SHELL.test(program) &&
    !/^(?:cmd|powershell|pwsh)$/.test(program)
  )
    return undefined;
  const options = rest.match(/\/[^/,;=]*|[^/,;=]+/g) ?? [];
  return [name, ...options].map((text): ShellWord => ({ text, from: word.from, to: word.to, expands: word.expands, substitutes: false }));
}

function movedBy(command: ShellCommand, base: number): ShellCommand {
  if (base === 0) return command;
  const moved = (word: ShellWord): ShellWord => ({
    ...word,
    from: word.from + base,
    to: word.to + base,
    ...(word.plainFrom === undefined ? {} : { plainFrom: word.plainFrom + base }),
  });
  return {
    ...command,
    words: command.words.map(moved),
    inputs: command.inputs.map(moved),
    redirections: command.redirections.map(({ op, word }) => ({ op, word: moved(word) })),
  };
}

function isWindowsFolder(cwd: string): boolean {
  return /^[A-Za-z]:|^\\\\/.test(cwd);
}

/** Judges a path by its text alone; callers that follow links find those that lead outside. */
export function isOutside(path: string, cwd: string, folder = cwd): boolean {
  if (isWindowsFolder(cwd)) return isOutsideOnWindows(path, cwd, folder);
  // How far up a folder in a variable leads is unknown.
  if (/^[$%~]/.test(path) && /(?:^|[\\/])\.\.(?:[\\/]|$)/.test(path)) return true;
  const full = isAbsolute(path) || folder === cwd ? path : `${folder}/${path}`;
  const plain = resolved(full.replaceAll('\\', '/'));
  if (plain === undefined) return true;
  const system = [cwd, plain].some((one) => writtenPlatform(one) === 'darwin') ? 'darwin' : 'posix';
  if (plain.startsWith('/') && pathBelowFolder(cwd, plain, system) !== undefined) return false;
  return /^(?:\/|~|\$|%|[A-Za-z]:\/)/.test(plain);
}

function isOutsideOnWindows(path: string, cwd: string, folder: string): boolean {
  // As Git Bash writes a drive: /c/a.
  const plain = path.replaceAll('\\', '/').replace(/^\/([A-Za-z])(?=\/|$)/, '$1:');
  if (/^[~$%]/.test(plain)) return true;
  const own = /^[A-Za-z]:/.exec(cwd)?.[0] ?? '';
  const [drive] = /^[A-Za-z]:(?!\/)/.exec(plain) ?? [];
  if (drive !== undefined && drive.toLowerCase() !== own.toLowerCase()) return true;
  // Counts from the current folder of its drive.
  const rest = drive === undefined ? plain : plain.slice(drive.length);
  const full = /^(?:\/\/|\/?[A-Za-z]:\/)/.test(rest) ? rest : rest.startsWith('/') ? `${own}${rest}` : `${folder}/${rest}`;
  return pathBelowFolder(cwd, full, 'win32') === undefined;
}

function isAbsolute(path: string): boolean {
  return /^(?:[\\/~$%]|[A-Za-z]:)/.test(path);
}

/** The path without `.` and `..`; undefined when it climbs above its start. */
function resolved(path: string): string | undefined {
  const kept: string[] = [];
  for (const name of path.split('/')) {
    if (name === '.') continue;
    if (name !== '..') kept.push(name);
    else if (kept.length === 0 || (kept.length === 1 && kept[0] === '')) return undefined;
    else kept.pop();
  }
  return kept.length === 1 && kept[0] === '' ? '/' : kept.join('/');
}
