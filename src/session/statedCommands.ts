/* Finds the commands in words that tell of one: a title, a prompt of a terminal, a text for people. */

/** UTF-16 units of a text that are read. */
const LONGEST_WORDS = 20_000;
const MOST_LINES = 60;
const MOST_COMMANDS = 30;

/** Words before a command at the beginning of a line: "Run: npm test", "$ npm test". */
const BEFORE = /^[ \t>$#%*-]*(?:(?:run|running|execute|executing|command|cmd|shell|bash|sh|terminal)\b:?[ \t]*)?[$>#%]?[ \t]*/gim;
/** The prompt of a shell: `root@host:~# `, `PS C:\\> `. */
const PROMPT = /^(?:PS\b ?)?[^\s"'`]{0,80}[$#%>❯]\s+/;
/** Names and words up to a colon or a dash: "run_shell_command: ", "Terminal — ". */
const SAID = /^[\p{L}\p{N}_. ]{1,60}(?::\s|：|[—–]\s)\s*/u;
/** Words of people up to one that says that something runs: "I will run ", "执行 ". */
const VERB =
  /^[\p{L}\p{N}_., ]{0,60}?(?:\b(?:run|running|execut\w*|invoke|invoking|esegu\w*|ejecut\w*|ex[ée]cut\w*)\b(?: the)?(?: (?:shell|terminal|bash))?(?: command)?:?\s+|(?:执行|執行|运行|運行|実行)(?:命令|コマンド)?[:：]?\s*|(?:命令|指令|コマンド)[:：]?\s*)/iu;
/** Words that call what follows a command. */
const TOLD = /^[ \t]*(?:(?:run|running|execute|executing|command|cmd|shell|bash|sh|terminal)[ \t]*[:：]|\$ )[ \t]*/i;
const QUOTED = /^(?:"([^"]+)"|'([^']+)'|[“‘「『«]([^”’」』»]+)[”’」』»])/;
const TICKED = /`([^`\n]{2,1000})`/g;

/** A text without what words put before a command, and each command that its lines seem to state. */
export function statedCommands(whole: string): readonly string[] {
  const text = whole.slice(0, LONGEST_WORDS);
  const ticked = [...text.matchAll(TICKED)].slice(0, MOST_COMMANDS).map((match) => match[1] ?? '');
  const lines = text.split('\n', MOST_LINES).flatMap((line) => stated(line.trim()));
  return [text.replaceAll(BEFORE, ''), ...new Set([...ticked, ...lines].slice(0, MOST_COMMANDS))];
}

/** The command that a text of one line says is one, not only seems to be. */
export function toldCommand(text: string): string | undefined {
  const [before] = TOLD.exec(text) ?? [];
  return before === undefined || text.trim().includes('\n') ? undefined : text.slice(before.length);
}

function stated(line: string): readonly string[] {
  const rests = [PROMPT, SAID, VERB].flatMap((pattern) => {
    const [before = ''] = pattern.exec(line) ?? [];
    return before === '' ? [] : [line.slice(before.length)];
  });
  return [...rests.map(withoutQuotes), ...withOption(line), ...(QUOTED.test(line) ? [withoutQuotes(line)] : [])].filter(
    (one) => one !== '',
  );
}

/** Words before the first option of a sentence that may be a program and its subcommands: "Need to git push --force". */
const BEFORE_OPTION = 3;
function withOption(line: string): readonly string[] {
  if (!/^\p{Lu}/u.test(line)) return [];
  const words = line.split(' ');
  const option = words.findIndex((word) => /^-{1,2}[a-z]/i.test(word));
  const starts = words.slice(0, Math.max(0, option)).map((_, at) => at);
  return starts
    .slice(1)
    .slice(-BEFORE_OPTION)
    .map((at) => words.slice(at).join(' '));
}

/** The text in the quotes at its beginning, or all of it without the sign that ends a sentence. */
function withoutQuotes(text: string): string {
  const [, double, single, curly] = QUOTED.exec(text) ?? [];
  return double ?? single ?? curly ?? text.replace(/[?？!！。]+$/, '');
}
