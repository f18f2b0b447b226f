import { guardReason, mayBeGuarded } from '../base/guardedFiles.ts';
import type { ProgramCall } from './dangerousPrograms.ts';
import {
  CHANGING_SUBCOMMANDS,
  FILE_OPTION,
  FOLDER_OPTION,
  isPlainConfig,
  LOADS_OPTION,
  optionName,
  READERS,
  READING_GIT,
  READING_OPTION,
  RUNNING_OPTIONS,
  RUNNING_SUBCOMMANDS,
  RUNS_OPTION,
  SHORT_READING_OPTION,
  TASK_RUNNERS,
  WRITES_OPTION,
} from './programOptions.ts';
import { sedEffects } from './sedScript.ts';
import { guessAt, type ShellWord } from './shellWords.ts';

/** Effects of a command beyond running the program that its first word names. */
export interface Reach {
  /**
   * The end of the words that decide what runs: programs, and the options and folders by which they run something else. A pattern has to name
   * all of them.
   */
  readonly named: number;
  /** The same with the scripts of interpreters. */
  readonly scripts: number;
  /** Its words may change a guarded file. */
  readonly changesGuarded: boolean;
  /** Files that its words say are written, below the folder it runs in: links may lead to others. */
  readonly writes: readonly string[];
  /** Words that may name files below the session's folder, the first of them: no text shows where links lead. */
  readonly read: readonly string[];
  readonly written: readonly string[];
}

/** Files of one command that are looked for on the disk. */
const MOST_WRITES = 60;
/** Words of one command whose links are followed. */
const MOST_PLACES = 100;
/** Paths whose text alone shows whether they are outside. */
const IN_SIGHT = /^(?:[\\/~$%-]|[A-Za-z]:)|(?:^|[\\/])\.\.(?:[\\/]|$)/;
/** The most words looked at; a word counts again for each program around it. No wide rule covers a command with more. */
const MOST_WORDS = 3000;
/** A glob is compared with each name of the list, which costs as much as so many words. */
const GLOB_COST = 50;
/** UTF-16 units of a word whose parts are looked at. */
const LONGEST_WORD = 400;

/** Collects what the commands of a line reach. */
export class ReachFinder {
  #named = 0;
  #scripts = 0;
  #changesGuarded = false;
  /** Both together may write a guarded file. */
  readonly #signs = new Set<'guarded value' | 'unknown write'>();
  readonly #writes = new Set<string>();
  readonly #places = { read: new Set<string>(), written: new Set<string>() };
  #wordsLeft = MOST_WORDS;

  result(): Reach {
    const tooMany = this.#writes.size > MOST_WRITES;
    return {
      named: this.#named,
      scripts: this.#scripts,
      changesGuarded: this.#changesGuarded || tooMany || this.#signs.size === 2,
      writes: tooMany ? [] : [...this.#writes],
      read: [...this.#places.read],
      written: [...this.#places.written],
    };
  }

  /** A word may name this file. */
  names(path: string, word: ShellWord, how: 'read' | 'written'): void {
    const places = this.#places[how];
    if (path.length <= LONGEST_WORD && !word.expands && !IN_SIGHT.test(path) && places.size < MOST_PLACES) places.add(path);
  }

  /** The pattern has to name everything up to the end of this word. `isPlaced`: the word is part of the command that was asked about. */
  mustName(word: ShellWord | undefined, isPlaced: boolean): void {
    if (word) this.#named = Math.max(this.#named, isPlaced ? word.to : Number.POSITIVE_INFINITY);
  }

  /** Notes an interpreter that reads a script. A rule may cover all scripts, but no such rule is suggested. */
  runsScript(word: ShellWord | undefined, isPlaced: boolean): void {
    if (word) this.#scripts = Math.max(this.#scripts, isPlaced ? word.to : Number.POSITIVE_INFINITY);
  }

  changes(): void {
    this.#changesGuarded = true;
  }

  /** A variable of the line holds this text. */
  holds(text: string): void {
    if (isGuarded(text)) this.#signs.add('guarded value');
  }

  writesTo(path: string, word?: ShellWord): void {
    if (word?.expands) this.#signs.add('unknown write');
    if (isGuarded(path)) this.#changesGuarded = true;
    if (word?.expands || this.#changesGuarded || this.#writes.size > MOST_WRITES) return;
    const glob = guessAt(path, false);
    if (glob === undefined) this.#writes.add(path);
    else {
      this.#wordsLeft -= GLOB_COST;
      if (this.#wordsLeft < 0 || path.length > LONGEST_WORD || mayBeGuarded(glob)) this.#changesGuarded = true;
    }
  }

  /** Judges one program with its arguments. `writes`: its words name what it writes. */
  judge(call: ProgramCall, writes: boolean, isPlaced: boolean): void {
    this.#wordsLeft -= call.args.length;
    if (this.#wordsLeft < 0) {
      this.#changesGuarded = true;
      return;
    }
    const own = call.program === 'git' ? this.#behindGit(call, isPlaced) : call;
    this.#judgeOptions(own, isPlaced);
    this.#judgeSubcommands(own, isPlaced);
    this.#judgeWords(own, writes);
    this.#judgeCopies(call);
    if (call.program === 'sed' || call.program === 'gsed') this.#judgeSed(call, isPlaced);
    if (spreads(call)) this.#changesGuarded = true;
  }

  /** The call without the options of Git itself: another repository, or a setting, may run something. */
  #behindGit(call: ProgramCall, isPlaced: boolean): ProgramCall {
    let at = 0;
    while (call.args[at]?.text.startsWith('-')) {
      const text = call.args[at]?.text ?? '';
      const takes = /^(?:-C|-c|--git-dir|--work-tree|--namespace|--super-prefix|--config-env|--exec-path|--attr-source)$/.test(text);
      const isHere = text === '-C' && /^\.?\/?$/.test(call.args[at + 1]?.text ?? '');
      const isPlain =
        /^(?:-p|-P|--(?:no-)?pager|--paginate|--no-replace-objects|--literal-pathspecs|--(?:no)?glob-pathspecs|--icase-pathspecs|--no-optional-locks|--version|-v|--help|-h)$/.test(
          text,
        );
      const isSetting = text === '-c';
      if (!isHere && !isPlain && !isSetting) this.mustName(takes ? (call.args[at + 1] ?? call.args[at]) : call.args[at], isPlaced);
      at += takes ? 2 : 1;
    }
    const args = call.args.slice(at);
    return { ...call, args, operands: args.filter(({ text }) => !/^-./.test(text)) };
  }

  #judgeOptions({ program, args }: ProgramCall, isPlaced: boolean): void {
    const own = RUNNING_OPTIONS.get(program);
    const isReader = READERS.has(program) || program === 'git';
    const isAdding = /^(?:add|stage|rm|mv)$/.test(args[0]?.text ?? '');
    let isBehindEnd = false;
    for (const [at, word] of args.entries()) {
      const { text } = word;
      // The letters of an old option of tar take their values from the words behind them.
      if (own?.pattern?.test(text)) {
        this.mustName(program.endsWith('tar') ? args.at(-1) : word, isPlaced);
        if (!/[=:]/.test(text)) this.mustName(args[at + 1], isPlaced);
      }
      // A file may be named like an option: `tar -cf a *`.
      if (own && /^-?[*?[]/.test(text) && word.plainFrom !== word.from + 1 && !isBehindEnd && !(program === 'git' && isAdding))
        this.mustName(word, isPlaced);
      if (text === '--') isBehindEnd = true;
      if (!/^[-+]./.test(text)) {
        if (LINKER.test(text)) this.mustName(word, isPlaced);
        continue;
      }
      const name = optionName(text);
      const equals = text.indexOf('=');
      const next = args[at + 1];
      const value = equals < 0 ? next : { ...word, text: text.slice(equals + 1) };
      const letters = /^-([A-Za-z0-9]+)/.exec(text)?.[1] ?? '';
      const isOne = (long: readonly string[]) => name !== '' && long.some((one) => (own?.cuts ? isCut(name, one) : name === one));
      const hasLetter = (short: string) => short !== '' && [...letters].some((one) => short.includes(one));
      const runs =
        (own && (hasLetter(own.short) || isOne(own.long))) || (RUNS_OPTION.test(name) && !/^no-/.test(name)) || LINKER.test(text);
      const isLoading = (own && (hasLetter(own.loadsShort) || isOne(own.loads))) || (!isReader && LOADS_OPTION.test(name));
      // The value may be glued to the letter.
      const loaded = isLoading ? [value?.text ?? '', ...(letters === '' ? [] : [text.slice(2)])] : [];
      const isCompose = (program === 'docker-compose' && at === 0) || args[at - 1]?.text === 'compose' || args[at - 2]?.text === '-f';
      const isFile = own?.loads.some(
        (one) => FILE_OPTION.test(one) && (name === one || (one[0] === letters[0]?.toLowerCase() && hasLetter(own.loadsShort))),
      );
      const isAnyFile = isFile || FILES_OF_ANY_NAME.test(program) || (/^(?:docker|podman|nerdctl)/.test(program) && isCompose);
      const loads = loaded.some((one) => !isPlainConfig(one, isAnyFile));
      if (runs || loads) this.mustName(value, isPlaced);
      if (runs || loads) this.mustName(program.endsWith('tar') ? args.at(-1) : word, isPlaced);
      const isFolder = TASK_RUNNERS.has(program) && program !== 'git' && (FOLDER_OPTION.test(name) || /^-C/.test(text));
      if (isFolder && !(value && /^\.?\/?$/.test(value.text))) {
        this.mustName(word, isPlaced);
        if (equals < 0 && text !== '-C' && /^-C/.test(text)) continue;
        this.mustName(value, isPlaced);
      }
    }
  }

  #judgeSubcommands(call: ProgramCall, isPlaced: boolean): void {
    const { program, operands } = call;
    const [first, second] = operands;
    const said = operands
      .slice(0, 3)
      .map(({ text }) => text)
      .join(' ')
      .toLowerCase();
    for (const { programs, words } of RUNNING_SUBCOMMANDS)
      if (programs.has(program)) {
        const match = words.exec(said);
        if (match?.index === 0) this.mustName(match[0].includes(' ') ? second : first, isPlaced);
      }
    // npm takes the beginning of a command for all of it.
    if (program === 'npm' && first && !NPM_COMMANDS.has(first.text)) {
      this.mustName(first, isPlaced);
      if (NPM_CHANGES.some((one) => one.startsWith(first.text)) && operands.length > 1) this.#changesGuarded = true;
    }
    if (program === 'cargo' && /^\+/.test(first?.text ?? '')) this.mustName(first, isPlaced);
    for (const { programs, words } of CHANGING_SUBCOMMANDS) if (programs.has(program) && words.test(said)) this.#changesGuarded = true;
    // A package of a folder or an address runs what it brings.
    if (/^(?:i|in|install|add|link|get|sync|develop|wheel|pip|tool)$/.test(first?.text ?? '') && INSTALLERS.has(program)) {
      if (operands.length > 1) this.mustName(first, isPlaced);
      for (const word of operands.slice(1)) if (/^[./~]|:|^git\+/.test(word.text)) this.mustName(word, isPlaced);
    }
  }

  /** Words that name guarded files, for programs that may change what they name. */
  #judgeWords({ program, args, operands }: ProgramCall, writes: boolean): void {
    const script = RUNS_SCRIPTS.test(program) ? operands[0] : undefined;
    const readsGit = program === 'git' && READING_GIT.test(operands[0]?.text ?? '');
    const changes = args.some(({ text }) => /^(?:-w|--write|--fix\S*|-i|--in-place|--inplace|--apply\S*|--unsafe)$/.test(text));
    const isReader = !writes && (readsGit || (READERS.has(program) && !(changes && READERS.get(program) === 'checks')));
    for (const [at, word] of args.entries()) {
      const { text } = word;
      if (text.length > LONGEST_WORD) continue;
      const before = args[at - 1]?.text ?? '';
      const isOutput = [before, text].some((one) => WRITES_OPTION.test(one) || WRITES_OPTION.test(`--${optionName(one)}`));
      if (isReader && !isOutput) continue;
      const option = text.startsWith('-') ? text : before;
      if (!writes && !isOutput && (READING_OPTION.test(option) || (TASK_RUNNERS.has(program) && SHORT_READING_OPTION.test(option))))
        continue;
      if (word === script && !isOutput) continue;
      if (isOutput && !text.startsWith('-')) this.writesTo(text, word);
      if (partsOf(text, program).some(isGuardedWord)) this.#changesGuarded = true;
      else if (writes && /[*?[]/.test(text) && !text.startsWith('-')) this.writesTo(text, word);
    }
  }

  /** Files that a program copies, moves or links into a folder keep their names. */
  #judgeCopies({ program, args, operands }: ProgramCall): void {
    if (!COPIERS.has(program)) return;
    const at = args.findIndex(({ text }) => /^(?:-[A-Za-z]*t$|--targ[a-z-]*$)/.test(text));
    const glued = args.find(({ text }) => /^--targ[a-z-]*=|^-[A-Za-z]*t./.test(text))?.text.replace(/^--[^=]*=|^-[A-Za-z]*?t/, '');
    const folder = glued ?? args[at < 0 ? args.length : at + 1]?.text ?? operands.at(-1)?.text;
    if (folder === undefined) return;
    this.writesTo(folder, operands.at(-1));
    for (const { text } of operands.slice(0, MOST_WRITES)) if (text !== folder) this.writesTo(`${folder}/${lastName(text)}`);
  }

  #judgeSed({ args }: ProgramCall, isPlaced: boolean): void {
    const { runs, fromFile, writes, complete } = sedEffects(args);
    this.mustName(runs, isPlaced);
    this.mustName(fromFile, isPlaced);
    if (!complete) this.mustName(args.at(-1), isPlaced);
    for (const path of writes) this.writesTo(path);
  }
}

/** Programs that read their settings from a file of any name. */
const FILES_OF_ANY_NAME =
  /^(?:[gbn]?make|ninja|samu|just|task|rake|gradlew?|mvnw?|tox|nox|pytest|ansible(?:-playbook)?|ant|scons|gulp|mkdocs)$/;
/** True for a name that is the other one, cut or with more behind a dash. */
function isCut(name: string, long: string): boolean {
  return long.startsWith(name) || name.startsWith(`${long}-`);
}
/** Programs whose first operand is a script that they run. */
const RUNS_SCRIPTS =
  /^(?:\w*sh|node|nodejs|bun|deno|tsx|ts-node|(?:python|pypy|ruby|perl|php|lua)[\d.]*|luajit|rscript|julia|groovy|java)$/;
/** Settings of compilers and builders that name the program of a step. */
const LINKER = /(?:^|[.\s"',_-])(?:linker|runner|rustc-wrapper)\s*=/i;
/** Commands of npm that run, or change, nothing but scripts and packages that the folder names. */
const NPM_COMMANDS = new Set(
  `test t tst run run-script rum urn start stop restart ci clean-install ic install-clean install i in ins ls list ll la outdated view info show v audit why explain ping root
  prefix bin docs home issues bugs repo search find s se whoami version help cache query diff sbom fund doctor pack completion dedupe ddp prune`.split(
    /\s+/,
  ),
);
const NPM_CHANGES = ['pkg', 'version', 'init', 'innit', 'create', 'set', 'config'];
/** Programs whose words are statements that name files: `VACUUM INTO '.envrc'`. */
const TAKES_QUERIES = /^(?:sqlite3|duckdb)$/;
const COPIERS = new Set('cp mv ln install scp copy move link gcp gmv gln ginstall copy-item move-item cpi mi'.split(' '));
const INSTALLERS = new Set(
  'npm pnpm yarn bun pip pip3 pipx uv poetry pdm gem cargo go composer dotnet conda mamba brew deno code luarocks opam cpan cpanm'.split(
    ' ',
  ),
);

function lastName(path: string): string {
  const plain = path.replace(/[\\/]+$/, '');
  return plain.slice(Math.max(plain.lastIndexOf('/'), plain.lastIndexOf('\\')) + 1);
}

function isGuarded(path: string): boolean {
  return guardReason(path) !== undefined;
}

function isGuardedWord(path: string): boolean {
  const reason = guardReason(path);
  return reason !== undefined && reason !== 'name';
}

/** Parts of a word that may be the name of a file: behind signs that part lists and values, glued to the letters of an option, and of an address. */
function partsOf(text: string, program: string): readonly string[] {
  const plain = /^\w+:\/\//.test(text) ? text.replace(/[?#].*$/, '') : text;
  const signs = TAKES_QUERIES.test(program) ? /[\s'"=:,@%]+/ : /[=:,@%]+/;
  const parts = signs.test(plain) ? [plain, ...plain.split(signs)] : [plain];
  const glued = /^-[A-Za-z]/.test(text) ? [2, 3, 4, 5].map((from) => text.slice(from)) : [];
  // A packed file keeps its name without the ending.
  // wget saves a file by the name that the address spells.
  const spelled = /^\w+:\/\/.*%/.test(plain)
    ? [plain.slice(plain.indexOf(':') + 1).replace(/%([0-7][0-9a-f])/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))]
    : [];
  const unpacked = /\.(?:gz|bz2|xz|zst|lz4|Z|br|lzma)$/.test(plain) ? [plain.slice(0, plain.lastIndexOf('.'))] : [];
  return [...parts, ...glued, ...unpacked, ...spelled];
}

const has = (args: readonly ShellWord[], pattern: RegExp) => args.some(({ text }) => pattern.test(text));

/** True for a call that writes files whose names are not in its words: of a folder, an archive, a patch or a server. */
function spreads({ program, args, operands }: ProgramCall): boolean {
  switch (program) {
    case 'cp':
    case 'gcp':
    case 'scp':
    case 'copy-item':
    case 'cpi':
      return has(args, /^-[A-Za-z]*[rRa]|^--(?:r|a)/i);
    case 'rsync':
    case 'robocopy':
    case 'xcopy':
    case 'patch':
    case 'expand-archive':
    case 'aria2c':
    case 'rename':
    case 'prename':
    case 'mmv':
    case 'ditto':
    case 'unar':
      return true;
    case 'tar':
    case 'gtar':
    case 'bsdtar':
      return has(args.slice(0, 1), /^-?[A-Za-z]*x/) || has(args, /^-[A-Za-z]*x|^--(?:ext|ge|ex)/);
    case 'unzip':
      return !has(args, /^-[A-Za-z]*[ltvpZ]/);
    case '7z':
    case '7za':
    case '7zz':
    case '7zr':
    case 'unrar':
    case 'rar':
      return has(operands.slice(0, 1), /^[xe]/);
    case 'cpio':
    case 'pax':
      return has(args, /^-[A-Za-z]*[iprw]|^--(?:ext|pass)/);
    case 'ar':
    case 'jar':
      return has(args.slice(0, 1), /^-?[a-z]*x/);
    case 'gunzip':
    case 'gzip':
      return has(args, /^-[A-Za-z]*N|^--name/);
    case 'docker':
    case 'podman':
    case 'kubectl':
    case 'oc':
    case 'nerdctl':
      return has(operands.slice(0, 2), /^cp$/);
    case 'wget':
      return has(args, /^-[A-Za-z]*[rmieHpx]|^--(?:rec|mir|inp|exe|con|tru|pag|for)/);
    case 'curl':
      // Of an address with a range the name is put together.
      return has(args, /^-[A-Za-z]*[JK]|^--(?:remote-h|conf|remote-name-a)|#\d|\[/);
    default:
      return false;
  }
}
