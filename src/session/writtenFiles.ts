import { type ProgramCall, withoutGitOptions } from './dangerousPrograms.ts';
import { optionName } from './programOptions.ts';
import type { ShellWord } from './shellWords.ts';

/* The only list of files that a program writes, by the place of their names among its words. Programs that may write all they name are in WRITERS. */

type Finder = (call: ProgramCall) => readonly ShellWord[];
const table = new Map<string, Finder>();
function of(programs: string, finder: Finder): void {
  for (const program of programs.split(/\s+/)) table.set(program, finder);
}

/** Files that the words of a call say it writes; the text of each is the path. */
export function writtenFiles(call: ProgramCall): readonly ShellWord[] {
  const files = table.get(call.program)?.(call) ?? [];
  return files.filter(({ text }) => text !== '' && text !== '-');
}

/** A program may write as many files as this that one call names; the judge marks a line with more. */
const MOST_FILES = 100;
const NOTHING = /(?!)/;
const has = ({ args }: ProgramCall, pattern: RegExp) => args.some(({ text }) => pattern.test(text));
const all: Finder = ({ operands }) => operands.slice(0, MOST_FILES);
const named = (word: ShellWord | undefined, text: string): readonly ShellWord[] => (word ? [{ ...word, text }] : []);

/** Operands that are no values of the options with these names. */
export function operandsBesides({ args, operands }: Pick<ProgramCall, 'args' | 'operands'>, options: RegExp): readonly ShellWord[] {
  const values = new Set(args.filter((_, at) => options.test(args[at - 1]?.text ?? '')));
  return operands.filter((word) => !values.has(word));
}

/** Values of options: glued to a letter, which others without a value may come before, behind `=`, or in the next word. */
function valuesOf({ args }: ProgramCall, letters: RegExp, long: RegExp): readonly ShellWord[] {
  return args.flatMap((word, at) => {
    const glued = letters.exec(word.text)?.[1];
    const isLong = glued === undefined && long.test(optionName(word.text));
    if (glued === undefined && !isLong) return [];
    const equals = isLong ? word.text.indexOf('=') : -1;
    const value = equals < 0 ? (glued ?? '') : word.text.slice(equals + 1);
    return value === '' && equals < 0 ? args.slice(at + 1, at + 2) : named(word, value);
  });
}

// --- Programs that edit a file where it lies.
of('mmv sponge ed ex vi vim nvim emacs nano pico micro dos2unix unix2dos mac2unix link mknod script', all);
// What is looked for and what is put in its place come first.
of('sd rpl sr fastmod codemod replace-in-file', ({ operands }) => operands.slice(2, MOST_FILES));
of('ast-grep sg comby crudini', (call) => (has(call, /^(?:-[a-zA-Z]*[Ui]|--update-all|--in-place|--set|--del)$/) ? all(call) : []));
of('perl ruby', (call) => {
  if (!has(call, /^-[acfghlnpsStTuUvwWXy\d]*i/)) return [];
  const files = operandsBesides(call, /^-[a-zA-Z\d]*[eE]$/);
  return files.slice(has(call, /^-[a-zA-Z\d]*[eE]/) ? 0 : 1, MOST_FILES);
});
of('awk gawk', (call) => {
  if (!has(call, /^(?:-i|-i.*inplace.*|--inc\w*(?:=.*inplace.*)?)$/)) return [];
  const files = operandsBesides(call, /^(?:-[iefvF]|--(?:include|file|source|assign))$/);
  return files.slice(has(call, /^(?:-[ef]|--(?:file|source))/) ? 0 : 1, MOST_FILES);
});
of('dasel', (call) => valuesOf(call, /^-[fo](.*)$/, /^(?:file|out)$/));

// --- Programs with an option for what they write, also glued to its letter.
of('sort gsort shuf', (call) => valuesOf(call, /^-[bdfghiMnrRVcCmsuze]*o(.*)$/, /^o(?:ut?|utp|utpu|utput)?$/));
of('pandoc gpg gpg2 iconv xmllint xsltproc gcc g++ cc c++ clang clang++ gfortran ld', (call) => valuesOf(call, /^-o(.*)$/, /^output$/));
of('openssl', (call) => valuesOf(call, /^-out()$/, NOTHING));
of('tsc', (call) => valuesOf(call, NOTHING, /^out-?(?:file|dir)?$/));

// --- Programs that write the operands at one place.
// A file is packed or unpacked into one with another ending.
of('gunzip gzip bunzip2 bzip2 unxz xz unlzma lzma unzstd zstd unlz4 lz4 uncompress compress', (call) =>
  has(call, /^-[a-zA-Z\d]*[clt]|^--(?:stdout|to-stdout|list|test)$/)
    ? []
    : call.operands.slice(0, MOST_FILES).flatMap((word) => [word, ...named(word, word.text.replace(/\.[A-Za-z\d]{1,4}$/, ''))]),
);
// The operand behind the one that is read.
of('uniq xxd split', ({ operands }) => operands.slice(1, 2));
of('zip', ({ operands }) => operands.slice(0, 1));
of('find gfind bfs', ({ args }) => args.filter((_, at) => /^-f(?:print0?|printf|ls)$/.test(args[at - 1]?.text ?? '')));
of('cmake', ({ args, operands }) => (args[0]?.text === '-E' ? operands.slice(1, MOST_FILES) : []));
of('ffmpeg convert magick', ({ operands }) => operands.slice(-1));
of('sqlite3 duckdb', ({ operands }) =>
  operands.flatMap((word) =>
    named(word, /(?:vacuum\s{1,9}into|\.(?:output|once|backup|save|log|clone))\s{1,9}['"]?([^\s'";]{1,200})/i.exec(word.text)?.[1] ?? ''),
  ),
);

// --- Git: files from a commit, and those that its commands create.
of('git', (call) => {
  const own = withoutGitOptions(call);
  const [command, ...operands] = own.operands;
  switch (command?.text) {
    case 'checkout':
      // The first one may be a branch in a variable.
      return has(own, /^(?:-[a-zA-Z]*[bB]|--orphan)/) ? [] : operands.filter(({ expands }, at) => at > 0 || !expands).slice(0, MOST_FILES);
    case 'restore':
      return has(own, /^(?:-[a-zA-Z]*S|--sta)/) && !has(own, /^(?:-[a-zA-Z]*W|--w)/) ? [] : operands.slice(0, MOST_FILES);
    case 'merge-file':
      return has(own, /^(?:-p|--stdout)$/) ? [] : operands.slice(0, 1);
    case 'bundle':
      return operands[0]?.text === 'create' ? operands.slice(1, 2) : [];
    case 'submodule':
      return operands[0]?.text === 'add' ? operands.slice(1).flatMap((word) => [word, ...named(word, nameInAddress(word.text))]) : [];
    default:
      return [];
  }
});

// --- Programs that fetch a file: its name is in an option, or the end of the address.
const addresses: Finder = ({ args }) =>
  args
    .slice(0, MOST_FILES)
    .flatMap((word) => (/^\w+:\/\/[^/]+\/|^[\w.-]+\.\w+\/./.test(word.text) ? named(word, nameInAddress(word.text)) : []));
/** Letters of curl, and of wget, that take no value. */
const CURL_OUTPUT = /^-[#\d:aBfgGiIjJklLMnNOpqRsSvVZ]*o(.*)$/;
const CURL_REMOTE_NAME = /^-[#\d:aBfgGiIjJklLMnNpqRsSvVZ]*O|^--remote-name/;
const WGET_OUTPUT = /^-[46bcdhkmnpqrvxEFHKLNSV]*O(.*)$/;
of('curl', (call) => [
  ...valuesOf(call, CURL_OUTPUT, /^output$/),
  ...valuesOf(
    call,
    /^-[#\d:aBfgGiIjJklLMnNOpqRsSvVZ]*[Dc](.*)$/,
    /^(?:dump-header|cookie-jar|trace|trace-ascii|stderr|etag-save|hsts|libcurl)$/,
  ),
  ...(has(call, CURL_REMOTE_NAME) ? addresses(call) : []),
]);
of('wget wget2', (call) => {
  const named = valuesOf(call, WGET_OUTPUT, /^output-d/);
  const logs = valuesOf(call, /^-[46bcdhkmnpqrvxEFHKLNSV]*[oa](.*)$/, /^(?:output-f|append-)/);
  return [...logs, ...(named.length > 0 ? named : addresses(call))];
});
of('aria2c axel', (call) => [...valuesOf(call, /^-o(.*)$/, /^out(?:put)?$/), ...addresses(call)]);
of('http https xh xhs', (call) => [
  ...valuesOf(call, /^-o(.*)$/, /^output$/),
  ...(has(call, /^(?:-[a-zA-Z]*d|--download)$/) ? addresses(call) : []),
]);
of('scp rsync', ({ operands }) => copied(operands));
of('docker podman nerdctl kubectl oc', ({ operands }) => (operands.slice(0, 2).some(({ text }) => text === 'cp') ? copied(operands) : []));
of('aws gsutil gcloud rclone s3cmd azcopy mc', ({ operands }) =>
  operands.some(({ text }) => /^(?:cp|mv|sync|copy|copyto|move|get)$/.test(text)) ? [...copied(operands), ...operands.slice(-1)] : [],
);
of('gh glab', (call) => (call.operands[1]?.text === 'download' ? valuesOf(call, /^-[a-z]*[pDO](.*)$/, /^(?:pattern|dir|output)$/) : []));

/** Files of another computer keep their names. */
function copied(operands: readonly ShellWord[]): readonly ShellWord[] {
  return operands
    .slice(0, -1)
    .slice(0, MOST_FILES)
    .flatMap((word) => (/:/.test(word.text) ? named(word, nameInAddress(word.text)) : []));
}

/** The last name of an address, as a program that fetches it spells the file. */
function nameInAddress(address: string): string {
  const path = address.replace(/[?#].*$/s, '').replace(/\/+$/, '');
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf(':')) + 1);
  return name.replace(/%([0-7][\da-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
