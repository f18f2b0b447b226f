import type { Localize } from '../../../locale.ts';
import { hitRows, hitsOf, unreadOf } from '../hits.ts';
import { count } from '../language.ts';
import { call, fence, type GuideContext, type GuideRequest, linesOf, type Script, type ScriptPart, sorry } from '../script.ts';
import { fileNamed, last, nearTo, textOfRead } from './files.ts';

const FIND: readonly RegExp[] = [
  /^(?:find|search|grep|look)(?: for)?(?: all)?(?: the)?(?: (?:text|word|string|occurrences of|places (?:with|where|that use)|uses of))? (?<x>.+?)(?: (?:in|inside|under) (?:the )?(?<f>\S+?)(?: (?:folder|directory|file))?)?$/i,
  /^在\s*(?<f>\S+?)\s*(?:目录|文件|文件夹)?(?:里面?|中|下)?\s*(?:查找|搜索|寻找|找)\s*(?<x>.+)$/,
  /^(?:查找|搜索|寻找|查一?下|搜一?下|找一?下|找|搜)\s*(?:所有|全部)?(?:文字|文本)?\s*(?<x>.+?)$/,
  /^哪里(?:有|出现|用到)(?:了)?\s*(?<x>.+)$/,
];
const FILE =
  /^(?:find|search for|locate|look for)(?: the| all)? files? (?:named |called |with the name )?(?<x>\S+)$|^(?:查找|搜索|找)\s*(?:名为|叫)?\s*(?<y>\S+?)\s*的?文件$|^(?:查找|搜索|找)\s*文件\s*(?<z>\S+)$/i;

export const findRequest: GuideRequest = {
  match: (asked, context) => {
    const file = FILE.exec(asked.masked)?.groups;
    const name = file?.x ?? file?.y ?? file?.z;
    if (name !== undefined) return findFile(context, asked.plain(name));
    for (const form of FIND) {
      const { x, f } = form.exec(asked.masked)?.groups ?? {};
      if (x !== undefined) return find(context, asked.plain(x), isHere(f) ? undefined : asked.plain(f ?? ''));
    }
    return undefined;
  },
};

const WHERE: readonly RegExp[] = [
  /^where(?:'s|’s| is| are| can i find) (?:the )?(?:file |function |class |symbol )?(?<x>.+?)(?: (?:defined|declared|implemented|located|set))?$/i,
  /^(?<x>.+?)\s*(?:是)?(?:在|定义在|实现在|位于)\s*(?:哪里?|什么地方|哪个文件)(?:里|中)?(?:定义|声明|实现)?(?:的)?$/,
];

/** Locates something: a file by its name, else a definition, else its mentions. */
export const whereRequest: GuideRequest = {
  match: (asked, context) => {
    for (const form of WHERE) {
      const x = form.exec(asked.masked)?.groups?.x;
      if (x !== undefined && !/\bused\b/.test(x)) return where(context, asked.plain(x));
    }
    return undefined;
  },
};

function isHere(place: string | undefined): boolean {
  return place === undefined || /^(?:workspace|project|repo|repository|here|this|code|codebase|files|工作区|项目|代码|这里)$/i.test(place);
}

function* find(context: GuideContext, what: string, place: string | undefined): Script {
  const { translate } = context;
  let path = '.';
  if (place !== undefined) {
    const found = yield* fileNamed(context, place);
    if ('problem' in found) return found.problem;
    path = found.path;
  }
  const result = yield* call('Grep', {
    pattern: what,
    literal: true,
    ignore_case: what === what.toLowerCase(),
    ...(path === '.' ? {} : { path }),
    max_results: 100,
  });
  if (result.isError) return sorry(result, translate);
  const hits = hitsOf(result);
  const names = path === '.' ? linesOf(yield* call('Glob', { pattern: `**/*${globText(what)}*` })) : [];
  if (hits.length === 0 && names.length === 0)
    return (
      translate(
        `\`${what}\` does not occur in ${path === '.' ? 'this workspace' : `\`${path}\``}.`,
        `在${path === '.' ? '这个工作区' : ` \`${path}\` `}里没有找到 \`${what}\`。`,
      ) + unreadOf(result)
    );
  const files = new Set(hits.map((hit) => hit.path)).size;
  const parts: string[] = [];
  if (hits.length > 0)
    parts.push(
      `${translate(`\`${what}\` occurs ${result.message.includes('more') ? 'more than ' : ''}${count(hits.length, 'time')} in ${count(files, 'file')}:`, `\`${what}\` 在 ${files} 个文件里出现了 ${hits.length} 次：`)}\n\n${hitRows(hits, translate)}`,
    );
  if (names.length > 0)
    parts.push(
      `${translate('Files of that name:', '同名文件：')}\n\n${names
        .slice(0, 10)
        .map((name) => `- \`${name}\``)
        .join('\n')}`,
    );
  return parts.join('\n\n');
}

function* findFile(context: GuideContext, name: string): Script {
  const { translate } = context;
  const pattern = /[*?]/.test(name) ? name : `**/*${globText(name)}*`;
  const found = linesOf(yield* call('Glob', { pattern }));
  if (found.length > 0)
    return `${translate(`${count(found.length, 'file')}:`, `找到 ${found.length} 个文件：`)}\n\n${found
      .slice(0, 30)
      .map((path) => `- \`${path}\``)
      .join('\n')}`;
  const near = nearTo(name, linesOf(yield* call('Glob', { pattern: '**/*' })));
  const none = translate(`There is no file like \`${name}\`.`, `没有名为 \`${name}\` 的文件。`);
  return near.length === 0
    ? none
    : `${none} ${translate('Names that come near:', '相近的名字：')}\n\n${near.map((path) => `- \`${path}\``).join('\n')}`;
}

function* where(context: GuideContext, what: string): Script {
  const { translate } = context;
  const files = linesOf(yield* call('Glob', { pattern: `**/{${globText(what)},${globText(what)}.*}` }));
  const parts: string[] = [];
  if (files.length > 0)
    parts.push(
      `${translate('File:', '文件：')}\n\n${files
        .slice(0, 10)
        .map((path) => `- \`${path}\``)
        .join('\n')}`,
    );
  if (/^[\w$.]+$/.test(what)) {
    const defined = hitsOf(yield* call('Grep', { pattern: definitionPattern(last(what)), max_results: 20 }));
    if (defined.length > 0)
      parts.push(`${translate(`\`${what}\` is defined here:`, `\`${what}\` 定义在：`)}\n\n${hitRows(defined, translate)}`);
  }
  if (parts.length > 0) return parts.join('\n\n');
  const result = yield* call('Grep', { pattern: what, literal: true, ignore_case: true, max_results: 50 });
  if (result.isError) return sorry(result, translate);
  const hits = hitsOf(result);
  if (hits.length === 0)
    return translate(
      `I found neither a file nor a text \`${what}\` in this workspace.`,
      `在这个工作区里既没有找到名为 \`${what}\` 的文件，也没有这样的文字。`,
    );
  return `${translate(`No definition of \`${what}\`, but it is mentioned here:`, `没有找到 \`${what}\` 的定义，但这些地方提到了它：`)}\n\n${hitRows(hits, translate)}`;
}

function globText(text: string): string {
  return text.replace(/[*?[\]{}()!+@,\\]/g, '\\$&');
}

const EXPLAIN: readonly RegExp[] = [
  /^(?:explain|describe|summari[sz]e|outline|tell me about)(?: me| to me)?(?: the| what)?(?: (?:file|folder|directory|function|class))? (?<x>.+?)(?: (?:is|does|do|is about|folder|directory|file))?(?: to me)?$/i,
  /^what (?:does|is|are|'s) (?:the |this )?(?:file |folder |function |class )?(?<x>.+?)(?: (?:do|about|for|mean|contain))?$/i,
  /^what(?:'s|’s) (?:the )?(?<x>.+?)(?: (?:about|for))?$/i,
  /^(?:解释|说明|介绍|总结|概述|讲解|讲讲|说说)\s*(?:一?下)?\s*(?:文件|文件夹|目录|函数|类)?\s*(?<x>.+?)(?:\s*(?:是什么|做什么|的作用|的内容|文件夹|目录))?$/,
  /^(?<x>.+?)\s*(?:有(?:些|哪些)?什么|有哪些(?:内容|文件|东西)|是(?:做|干)?什么(?:的|用的)?|有什么用|的作用是什么|讲了?什么|是关于什么的)$/,
];
const WORKSPACE =
  /^(?:in(?:side)? )?(?:this|the|my|这个|此|本|整个|当前)?\s*(?:project|workspace|folder|repo(?:sitory)?|code ?base|code|app|项目|工作区|文件夹|仓库|代码库|代码)\s*(?:里|中|里面)?$/i;

export const explainRequest: GuideRequest = {
  match: (asked, context) => {
    for (const form of EXPLAIN) {
      const x = form.exec(asked.masked)?.groups?.x;
      if (x !== undefined) return WORKSPACE.test(x) ? project(context) : explain(context, asked.plain(x));
    }
    // A name alone: a path or one identifier.
    return /^(?:[\w@.-]*[./\\][\w@./\\-]+|\u27e6\d+\u27e7)$/.test(asked.masked) ? explain(context, asked.plain(asked.masked)) : undefined;
  },
};

function* explain(context: GuideContext, name: string): Script {
  const { translate } = context;
  const isPath = /[./\\]/.test(name);
  if (!isPath && /^[\w$]+$/.test(name)) {
    const answer = yield* symbol(context, name);
    if (answer !== undefined) return answer;
  }
  if (/\s/.test(name))
    return translate(
      `I can explain a file, a folder or one name in the code, not “${name}”. That takes a language model.`,
      `我只能说明一个文件、一个文件夹或代码里的一个名字，不能回答“${name}”。这需要大语言模型。`,
    );
  const found = yield* fileNamed(context, name);
  if ('problem' in found) return found.problem;
  if (found.path === '.') return yield* project(context);
  if (found.folder) return yield* folder(context, found.path);
  const result = yield* call('ReadFile', { path: found.path });
  if (result.isError) return sorry(result, translate);
  const outline = outlineOf(found.path, textOfRead(result.text), translate);
  return `**${found.path}** - ${outline}`;
}

function* folder(context: GuideContext, path: string): Script {
  const { translate } = context;
  const files = linesOf(yield* call('Glob', { pattern: '**/*', directory: path }));
  const readme = files.find((file) => new RegExp(`^${path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/readme(\\.\\w+)?$`, 'i').test(file));
  const about = readme === undefined ? '' : aboutReadme(textOfRead((yield* call('ReadFile', { path: readme, n_lines: 60 })).text));
  const inside = new Map<string, number>();
  for (const file of files) {
    const rest = file.slice(path.length + 1);
    const top = rest.includes('/') ? `${rest.slice(0, rest.indexOf('/'))}/` : rest;
    inside.set(top, (inside.get(top) ?? 0) + 1);
  }
  const rows = [...inside]
    .slice(0, 40)
    .map(([name, held]) => `- \`${name}\`${name.endsWith('/') ? translate(` (${count(held, 'file')})`, `（${held} 个文件）`) : ''}`);
  return `**${path}/** - ${translate(`${count(files.length, 'file')} (${kinds(files)}).`, `${files.length} 个文件（${kinds(files)}）。`)}${about === '' ? '' : `\n\n${about}`}\n\n${rows.join('\n')}`;
}

function* project(context: GuideContext): Script {
  const { translate } = context;
  const files = linesOf(yield* call('Glob', { pattern: '**/*' }));
  if (files.length === 0) return translate('This workspace is empty.', '这个工作区是空的。');
  const readme = files.find((file) => /^readme(\.\w+)?$/i.test(file));
  const parts = [
    translate(
      `This workspace has ${count(files.length, 'file')} (${kinds(files)}).`,
      `这个工作区有 ${files.length} 个文件（${kinds(files)}）。`,
    ),
  ];
  if (readme !== undefined) parts.push(aboutReadme(textOfRead((yield* call('ReadFile', { path: readme, n_lines: 60 })).text)));
  if (files.includes('package.json'))
    parts.push(manifestText(textOfRead((yield* call('ReadFile', { path: 'package.json' })).text).join('\n'), context));
  const folders = new Map<string, number>();
  for (const file of files)
    if (file.includes('/')) folders.set(file.slice(0, file.indexOf('/')), (folders.get(file.slice(0, file.indexOf('/'))) ?? 0) + 1);
  const rows = [...folders].map(([name, held]) => `- \`${name}/\` ${translate(`(${count(held, 'file')})`, `（${held} 个文件）`)}`);
  const loose = files.filter((file) => !file.includes('/')).map((file) => `- \`${file}\``);
  parts.push([...rows, ...loose].slice(0, 40).join('\n'));
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Explains a name in the code; undefined when no definition is found. */
function* symbol(context: GuideContext, name: string): ScriptPart<string | undefined> {
  const { translate } = context;
  const hits = hitsOf(yield* call('Grep', { pattern: definitionPattern(name), max_results: 10 }));
  const [first] = hits;
  if (!first) return undefined;
  const from = Math.max(1, first.line - 8);
  const read = yield* call('ReadFile', { path: first.path, line_offset: from, n_lines: first.line - from + 20 });
  const lines = textOfRead(read.text);
  const begin = commentStart(lines, first.line - from);
  const word = name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const uses = hitsOf(yield* call('Grep', { pattern: `(^|[^\\w$])${word}([^\\w$]|$)`, max_results: 200 }));
  const elsewhere = new Set(uses.map((use) => use.path)).size;
  const more = hits.length > 1 ? `\n\n${translate('Other definitions:', '其他定义：')}\n\n${hitRows(hits.slice(1), translate)}` : '';
  return `${translate(`\`${name}\` is defined in \`${first.path}:${first.line}\` and occurs ${count(uses.length, 'time')} in ${count(elsewhere, 'file')}.`, `\`${name}\` 定义在 \`${first.path}:${first.line}\`，在 ${elsewhere} 个文件里出现 ${uses.length} 次。`)}\n\n${excerpt(lines.slice(begin), from + begin, 'text')}${more}`;
}

/** Where the comment above a definition begins. */
function commentStart(lines: readonly string[], at: number): number {
  let begin = at;
  while (begin > 0 && /^\s*(?:\/\*|\*|\/\/|#|--|@)/.test(lines[begin - 1] ?? '')) begin -= 1;
  return begin;
}

function aboutReadme(lines: readonly string[]): string {
  const text = lines.filter((line) => !/^\s*(?:\[?!\[|<|---|===)/.test(line)).join('\n');
  const blocks = text
    .split(/\n\s*\n/)
    .map((block) => block.trim())
    .filter((block) => block !== '');
  const prose = blocks.filter((block) => !/^(?:#|```|[-*] )/.test(block)).slice(0, 2);
  const title = blocks
    .find((block) => block.startsWith('#'))
    ?.split('\n')[0]
    ?.replace(/^#+\s*/, '');
  return [title === undefined ? '' : `**${title}**`, ...prose]
    .filter((part) => part !== '')
    .map((part) => `> ${part.slice(0, 600).replaceAll('\n', '\n> ')}`)
    .join('\n>\n');
}

function manifestText(manifest: string, { translate }: GuideContext): string {
  try {
    const parsed = Object(JSON.parse(manifest)) as Readonly<Record<string, unknown>>;
    const scripts = Object.keys(Object(parsed.scripts)).slice(0, 12);
    const name = typeof parsed.name === 'string' ? parsed.name : 'package.json';
    const about = typeof parsed.description === 'string' ? `: ${parsed.description}` : '';
    return `\`${name}\`${about}${scripts.length > 0 ? `\n\n${translate('Scripts', '脚本')}: ${scripts.map((script) => `\`${script}\``).join(', ')}` : ''}`;
  } catch {
    return '';
  }
}

function kinds(files: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const file of files) {
    const ending = /\.([A-Za-z0-9]+)$/.exec(last(file))?.[1] ?? 'other';
    counts.set(ending, (counts.get(ending) ?? 0) + 1);
  }
  const top = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 5);
  return top.map(([ending, held]) => `${held} ${ending}`).join(', ');
}

interface Entry {
  readonly line: number;
  readonly text: string;
}

const MOST = 40;

/** The outline of a file: its opening comment, and its headings or declarations with their lines. Markdown. */
function outlineOf(path: string, lines: readonly string[], translate: Localize): string {
  const about = isProse(path) ? '' : opening(lines);
  const entries = isProse(path) ? headings(lines) : declarations(lines);
  const size = translate(`${count(lines.length, 'line')}.`, `${lines.length} 行。`);
  const parts = [size + (about === '' ? '' : `\n\n> ${about.replaceAll('\n', '\n> ')}`)];
  if (entries.length === 0) {
    const start = lines.filter((line) => line.trim() !== '').slice(0, 8);
    if (start.length > 0) parts.push(`${translate('It begins:', '开头是：')}\n\n\`\`\`\`\n${start.join('\n')}\n\`\`\`\``);
    return parts.join('\n\n');
  }
  const rows = entries.slice(0, MOST).map((entry) => `- \`${path}:${entry.line}\` ${entry.text}`);
  if (entries.length > MOST) rows.push(translate(`- ... and ${entries.length - MOST} more`, `- ……还有 ${entries.length - MOST} 项`));
  parts.push(`${isProse(path) ? translate('Its headings:', '标题：') : translate('It declares:', '其中声明了：')}\n\n${rows.join('\n')}`);
  return parts.join('\n\n');
}

function isProse(path: string): boolean {
  return /\.(?:md|markdown|mdx|rst|adoc)$/i.test(path);
}

function headings(lines: readonly string[]): readonly Entry[] {
  let fenced = false;
  return lines.flatMap((line, at): readonly Entry[] => {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    const match = fenced ? null : /^(#{1,4})\s+(.+)$/.exec(line);
    return match ? [{ line: at + 1, text: `${'  '.repeat((match[1]?.length ?? 1) - 1)}${match[2]}` }] : [];
  });
}

const DECLARATION =
  /^(?<in>\s{0,4})(?<ex>export\s+)?(?:default\s+|declare\s+|public\s+|private\s+|protected\s+|internal\s+|static\s+|final\s+|abstract\s+|pub(?:\([^)]*\))?\s+|async\s+|unsafe\s+)*(?<kind>function\*?|class|interface|type|enum|const|let|var|def|fn|func|struct|trait|impl|module|namespace|record|protocol|object)\s+(?:\([^)]*\)\s*)?(?<name>[\w$.<>]+)/;

function declarations(lines: readonly string[]): readonly Entry[] {
  return lines.flatMap((line, at): readonly Entry[] => {
    const { in: indent = '', ex, kind, name } = DECLARATION.exec(line)?.groups ?? {};
    if (kind === undefined || name === undefined) return [];
    // Inside a block only functions and classes say something; local variables do not.
    if (indent !== '' && !/^(?:function|def|fn|func|class)/.test(kind)) return [];
    return [{ line: at + 1, text: `${ex === undefined ? '' : 'export '}${kind} **${name.replace(/<.*$/, '')}**` }];
  });
}

/** The comment a file begins with. */
function opening(lines: readonly string[]): string {
  const text: string[] = [];
  for (const line of lines.slice(0, 40)) {
    if (/^#!/.test(line) || (text.length === 0 && /^\s*(?:$|import\b|from\b|package\b|using\b|'use |"use )/.test(line))) continue;
    const match = /^\s*(?:\/\*+|\*\/|\*|\/\/+|#+|"""|'''|--|<!--)\s?(.*?)(?:\*\/|"""|-->)?\s*$/.exec(line);
    if (!match) break;
    text.push(match[1] ?? '');
  }
  return text.join('\n').trim().slice(0, 500);
}

/** Where a name is declared, in the usual languages. A regular expression for Grep. */
export function definitionPattern(name: string): string {
  const word = name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const keywords = 'function\\*?|class|interface|type|enum|const|let|var|def|fn|func|struct|trait|impl|module|namespace';
  return `\\b(${keywords}) ${word}\\b|^ +((async|static|public|private|protected) )*${word}\\(.*\\{$|^#+ ${word}$`;
}

/** A few lines around a place, as a fence. */
export function excerpt(lines: readonly string[], first: number, language: string): string {
  return fence(lines.map((line, at) => `${String(first + at).padStart(4)}  ${line}`).join('\n'), language === '' ? '' : 'text');
}
