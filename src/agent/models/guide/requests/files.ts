import type { Localize } from '../../../locale.ts';
import { hitRows, hitsOf, unreadOf } from '../hits.ts';
import { call, fence, type GuideContext, type GuideRequest, linesOf, type Script, type ScriptPart, sorry } from '../script.ts';

// --- the file that is meant

type FoundFile = { readonly path: string; readonly folder: boolean } | { readonly problem: string };

/** The file or folder a user means: as written, by its last part anywhere, or a list of names that come near. */
export function* fileNamed(context: GuideContext, given: string): ScriptPart<FoundFile> {
  const { translate } = context;
  const name = given.replace(/^\.\//, '').replace(/\\/g, '/').replace(/\/+$/, '');
  if (name === '' || name === '.') return { path: '.', folder: true };
  if (/^(?:\/|~|\.\.|[A-Za-z]:)/.test(name)) return { path: given, folder: false };
  const literal = name.replace(/[*?[\]{}()!+@]/g, '\\$&');
  const found = linesOf(yield* call('Glob', { pattern: `**/${literal}`, include_dirs: true }));
  const exact = found.find((path) => bare(path) === name);
  if (exact !== undefined) return foundAt(exact);
  const [only] = found;
  if (only !== undefined && found.length === 1) return foundAt(only);
  if (found.length > 1) {
    const list = found.slice(0, 10).map((path) => `- \`${path}\``);
    return {
      problem: translate(
        `There are ${found.length} of that name. Which one?\n\n${list.join('\n')}`,
        `有 ${found.length} 个同名项，是哪一个？\n\n${list.join('\n')}`,
      ),
    };
  }
  const all = linesOf(yield* call('Glob', { pattern: '**/*', include_dirs: true }));
  const alike = all.filter((path) => isAlike(name, bare(path)));
  const [likely] = alike;
  if (likely !== undefined && alike.length === 1) return foundAt(likely);
  const near = nearTo(name, all.map(bare));
  const missing = translate(`There is no \`${given}\` in this workspace.`, `工作区里没有 \`${given}\`。`);
  if (near.length === 0) return { problem: missing };
  const list = near.map((path) => `- \`${path}\``).join('\n');
  return { problem: `${missing} ${translate('Did you mean', '你是不是要找')}:\n\n${list}` };
}

/** The same name but for capital letters, or without its ending. */
function isAlike(name: string, path: string): boolean {
  const [wanted, given] = [last(name).toLowerCase(), last(path).toLowerCase()];
  return wanted === given || (!wanted.includes('.') && given.replace(/\.[^.]+$/, '') === wanted);
}

/** Paths whose names are like the given one, the nearest first, at most five. */
export function nearTo(name: string, paths: readonly string[]): readonly string[] {
  const wanted = last(name).toLowerCase();
  const scored = paths.map((path) => ({ path, score: distance(wanted, last(path).toLowerCase()) }));
  const limit = Math.max(2, Math.floor(wanted.length / 2.5));
  return scored
    .filter(({ score }) => score <= limit)
    .sort((a, b) => a.score - b.score || a.path.length - b.path.length)
    .slice(0, 5)
    .map(({ path }) => path);
}

/** Edits between two names; one that contains the other (or its stem) counts as near. */
function distance(a: string, b: string): number {
  const stem = (name: string): string => name.replace(/\.[^.]*$/, '');
  if (stem(a) === stem(b)) return 0.5;
  if (stem(a).length > 2 && b.includes(stem(a))) return 1;
  if (stem(b).length > 3 && a.includes(stem(b))) return 1.5;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length] ?? a.length;
}

export function last(path: string): string {
  return path.split('/').at(-1) ?? path;
}

function foundAt(path: string): FoundFile {
  return { path: bare(path), folder: path.endsWith('/') };
}

function bare(path: string): string {
  return path.replace(/\/$/, '');
}

/** The language of a fence for a file. */
export function languageOf(path: string): string {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  const names: Readonly<Record<string, string>> = { mjs: 'js', cjs: 'js', mts: 'ts', cts: 'ts', yml: 'yaml', markdown: 'md', htm: 'html' };
  return names[ending] ?? ending;
}

/** The text of a ReadFile result without the line numbers. */
export function textOfRead(text: string): readonly string[] {
  return text === '' ? [] : text.split('\n').map((line) => line.replace(/^ *\d+\t/, ''));
}

// --- the requests

const LIST: readonly RegExp[] = [
  /^(?:list|ls|dir|show)(?: me)?(?: all)?(?: the)?(?: files| folders| entries| contents?| tree| structure)+(?: (?:in|of|under|inside|from) (?:the )?(?<f>\S+)(?: (?:folder|directory))?)?$/i,
  /^(?:list|ls|dir)(?: (?<f>\S+))?$/i,
  /^what(?:'s|’s| is| files are| do we have) (?:in|inside|under) (?:the )?(?<f>\S+?)(?: (?:folder|directory))?$/i,
  /^(?:列出|显示|查看|看看|看一下)\s*(?<f>[^\s的里下中]+?)?\s*(?:目录|文件夹)?(?:下面|里面|下|里|中|内)?的?(?:所有|全部)?(?:文件|目录|内容|结构)(?:列表)?$/,
  /^(?<f>\S+?)\s*(?:目录|文件夹)?(?:下面|里面|下|里|中)有(?:什么|哪些)(?:文件|东西|内容)?$/,
  /^有(?:什么|哪些)文件$/,
];

export const listRequest: GuideRequest = {
  match: (asked, context) => {
    for (const form of LIST) {
      const match = form.exec(asked.masked);
      if (match) return list(context, asked.plain(folderOf(match.groups?.f)));
    }
    return undefined;
  },
};

/** Words that mean the workspace itself. */
function folderOf(given: string | undefined): string {
  return given === undefined ||
    /^(?:here|this|(?:this |the )?(?:workspace|project|repo)|root|it|(?:这个|这|此|本|当前|整个)?(?:工作区|项目|目录|文件夹|仓库)|当前|这里|根目录|此)$/i.test(
      given,
    )
    ? '.'
    : given;
}

function* list(context: GuideContext, folder: string): Script {
  const found = yield* fileNamed(context, folder);
  return 'problem' in found ? found.problem : yield* listFolder(context, found.path);
}

/** The entries of a folder that is there. */
function* listFolder(context: GuideContext, path: string): Script {
  const { translate } = context;
  const result = yield* call('ListDirectory', path === '.' ? {} : { path });
  if (result.isError) return sorry(result, translate);
  const lines = linesOf(result);
  const place = path === '.' ? translate('this workspace', '这个工作区') : translate(`\`${path}\``, ` \`${path}\` `);
  if (lines.length === 0) return translate(`${place} is empty.`, `${place}是空的。`.trim());
  const rows = lines.map((line) => {
    const [name = '', size] = line.split('  ');
    return size === undefined ? `- \`${name}\`` : `- \`${name}\` (${size} B)`;
  });
  return `${translate(`In ${place}:`, `${place}里有：`.trim())}\n\n${rows.join('\n')}`;
}

const READ: readonly RegExp[] = [
  /^(?:read|show|cat|print|display|view)(?: me)?(?: (?:the )?(?:file|contents? of(?: the file)?))? (?<f>[^\s:]+)(?:(?::| (?:from )?lines? )(?<a>\d+)(?:\s*(?:-|to|–)\s*(?<b>\d+))?)?$/i,
  /^(?:read|show|print|display|view)(?: me)? lines? (?<a>\d+)(?:\s*(?:-|to|–)\s*(?<b>\d+))? (?:of|in|from) (?<f>\S+)$/i,
  /^(?:读取?|读一?下|查看|看看|显示|看一?下|打印)\s*(?:文件)?\s*(?<f>[^\s的]+?)(?:\s*的?\s*(?:第\s*)?(?<a>\d+)\s*(?:[-–到至~]\s*第?\s*(?<b>\d+))?\s*行|\s*的?(?:全部|所有)?内容)?$/,
];

export const readRequest: GuideRequest = {
  match: (asked, context) => {
    for (const form of READ) {
      const { f, a, b } = form.exec(asked.masked)?.groups ?? {};
      if (f !== undefined)
        return read(context, asked.plain(f), a === undefined ? undefined : Number(a), b === undefined ? undefined : Number(b));
    }
    return undefined;
  },
};

function* read(context: GuideContext, name: string, from?: number, to?: number): Script {
  const { translate } = context;
  const found = yield* fileNamed(context, name);
  if ('problem' in found) return found.problem;
  if (found.folder) return yield* listFolder(context, found.path);
  const part = from === undefined ? {} : { line_offset: from, n_lines: Math.max(1, (to ?? from) - from + 1) };
  const result = yield* call('ReadFile', { path: found.path, ...part });
  if (result.isError) return sorry(result, translate);
  const lines = textOfRead(result.text);
  if (lines.length === 0) return translate(`\`${found.path}\` is empty.`, `\`${found.path}\` 是空文件。`);
  const most = 120;
  const rest = lines.length - most;
  const more =
    rest > 0
      ? translate(
          `\n\n${rest} more lines: ask for “lines ${most + 1}-${lines.length} of ${found.path}”.`,
          `\n\n还有 ${rest} 行：可以说“查看 ${found.path} 第 ${most + 1} 到 ${lines.length} 行”。`,
        )
      : '';
  const [, first = '1', end = '', total = ''] = /Lines (\d+)-(\d+) of (\d+)/.exec(result.message) ?? [];
  const head = translate(`lines ${first}-${end} of ${total}`, `第 ${first}-${end} 行，共 ${total} 行`);
  return `**${found.path}** (${head})\n\n${fence(lines.slice(0, most).join('\n'), languageOf(found.path))}${more}`;
}

const CREATE: readonly RegExp[] = [
  /^(?:create|make|add|write|new)(?: an?| the)?(?: new)?(?: empty)? file(?: called| named| at)? (?<f>\S+?)(?:[\s,:]+(?:with|containing|that (?:says|contains)|saying|and write)(?: the)?(?: contents?| text)?:? ?(?<c>[\s\S]+))?$/i,
  /^(?:create|make|write)(?: an?| the)?(?: new)?(?: empty)? (?<f>[\w@./\\-]+\.\w{1,10})(?:[\s,:]+(?:with|containing|that (?:says|contains)|saying)(?: the)?(?: contents?| text)?:? ?(?<c>[\s\S]+))?$/i,
  /^(?:write|put|save) (?<c>[\s\S]+?) (?:to|into|in|as) (?:the |a new )?(?:file )?(?<f>[\w@./\\-]+\.\w{1,10})$/i,
  /^(?:创建|新建|建立|添加|写)\s*(?:一?个)?(?:新的?)?(?:空的?)?文件\s*(?:名为|叫)?\s*(?<f>[^\s,，:：内写]+)(?:[\s,，]*(?:，)?\s*(?:内容(?:是|为)?|写入|写上|包含)\s*[:：]?\s*(?<c>[\s\S]+))?$/,
  /^(?:创建|新建|建立)\s*(?:一?个)?\s*(?<f>[\w@./\\-]+\.\w{1,10})(?:\s*文件)?(?:[\s,，]*(?:内容(?:是|为)?|写入|写上|包含)\s*[:：]?\s*(?<c>[\s\S]+))?$/,
  /^(?:把|将)\s*(?<c>\S[\s\S]*?)\s*(?:写入|写到|保存到|存到)\s*(?:文件)?\s*(?<f>[\w@./\\-]+)(?:里|中)?$/,
];

export const createRequest: GuideRequest = {
  match: (asked, context) => {
    for (const form of CREATE) {
      const { f, c } = form.exec(asked.masked)?.groups ?? {};
      if (f !== undefined) return create(context, asked.plain(f), c === undefined ? '' : asked.plain(c));
    }
    return undefined;
  },
};

function* create(context: GuideContext, path: string, content: string): Script {
  const { translate } = context;
  const literal = path.replace(/^\.\//, '').replace(/[*?[\]{}()!+@]/g, '\\$&');
  if (
    !/^(?:\/|~|\.\.|[A-Za-z]:)/.test(path) &&
    linesOf(yield* call('Glob', { pattern: `./${literal}` })).includes(path.replace(/^\.\//, ''))
  ) {
    return translate(
      `\`${path}\` exists already; I did not touch it. To change it say: replace "old" with "new" in ${path}`,
      `\`${path}\` 已经存在，我没有改动它。要修改请说：把 ${path} 里的“旧文字”替换成“新文字”`,
    );
  }
  const text = content === '' || content.endsWith('\n') ? content : `${content}\n`;
  const result = yield* call('WriteFile', { path, content: text });
  if (result.isError) return sorry(result, translate);
  if (result.text !== '') return usersVersion(path, translate);
  const shown = text === '' ? '' : `\n\n${fence(text, languageOf(path))}`;
  return `${translate(`Created \`${path}\`${text === '' ? ', empty' : ''}.`, `已创建 \`${path}\`${text === '' ? '（空文件）' : ''}。`)}${shown}`;
}

/** A write that gives a text has written what the user made of the proposed one. */
function usersVersion(path: string, translate: Localize): string {
  return translate(`\`${path}\` is as you edited it.`, `\`${path}\` 已按你修改后的内容写入。`);
}

const REPLACE: readonly RegExp[] = [
  /^(?:replace|change|substitute|rename)(?<all> all| every)?(?: the)?(?: text| word)? (?<a>.+?) (?:with|by|to|into|->|→|=>) (?<b>.+?)(?: (?:in|inside|within) (?:the )?(?:file )?(?<f>\S+?))?(?<every> everywhere)?$/i,
  /^in (?:the )?(?:file )?(?<f>\S+?),? (?:replace|change|substitute|rename)(?<all> all| every)?(?: the)?(?: text| word)? (?<a>.+?) (?:with|by|to|into|->|→|=>) (?<b>.+?)(?<every> everywhere)?$/i,
  /^(?:把|将)\s*(?<f>[\w@./\\-]+|\u27e6\d+\u27e7)\s*(?:这个文件|文件)?\s*(?:里面?|中|内)\s*的?\s*(?<all>所有|全部|每个)?的?\s*(?<a>.+?)\s*(?<every>全部|都)?\s*(?:替换(?:成|为)|换成|改(?:成|为)|变成)\s*(?<b>.+)$/,
  /^在\s*(?<f>[\w@./\\-]+|\u27e6\d+\u27e7)\s*(?:里面?|中|内)\s*[,，]?\s*(?:把|将)\s*(?<all>所有|全部|每个)?的?\s*(?<a>.+?)\s*(?<every>全部|都)?\s*(?:替换(?:成|为)|换成|改(?:成|为)|变成)\s*(?<b>.+)$/,
  /^(?:把|将)\s*(?<all>所有|全部|每个)?的?\s*(?<a>.+?)\s*(?<every>全部|都)?\s*(?:替换(?:成|为)|换成|改(?:成|为)|变成)\s*(?<b>.+)$/,
];

export const replaceRequest: GuideRequest = {
  match: (asked, context) => {
    for (const form of REPLACE) {
      const { a, b, f, all, every } = form.exec(asked.masked)?.groups ?? {};
      if (a === undefined || b === undefined) continue;
      const everywhere = all !== undefined || every !== undefined;
      return replace(context, asked.plain(a), asked.plain(b), f === undefined ? undefined : asked.plain(f), everywhere);
    }
    return undefined;
  },
};

function* replace(context: GuideContext, old: string, next: string, file: string | undefined, everywhere: boolean): Script {
  const { translate } = context;
  let path = file;
  if (path === undefined) {
    const searched = yield* call('Grep', { pattern: old, literal: true, max_results: 100 });
    if (searched.isError) return sorry(searched, translate);
    const hits = hitsOf(searched);
    const files = [...new Set(hits.map((hit) => hit.path))];
    const [only] = files;
    if (only === undefined)
      return translate(`\`${old}\` does not occur in this workspace.`, `这个工作区里没有 \`${old}\`。`) + unreadOf(searched);
    if (files.length > 1) {
      return translate(
        `\`${old}\` occurs in ${files.length} files. Say in which: replace "${old}" with "${next}" in FILE\n\n${hitRows(hits, translate)}`,
        `\`${old}\` 出现在 ${files.length} 个文件里。请说明是哪个文件：把 文件名 里的“${old}”替换成“${next}”\n\n${hitRows(hits, translate)}`,
      );
    }
    path = only;
  } else {
    const found = yield* fileNamed(context, path);
    if ('problem' in found) return found.problem;
    path = found.path;
  }
  const found = yield* call('Grep', { pattern: old, literal: true, path, max_results: 100 });
  if (found.isError) return sorry(found, translate);
  const hits = hitsOf(found);
  if (hits.length === 0 && !old.includes('\n')) {
    const near = hitsOf(yield* call('Grep', { pattern: old, literal: true, ignore_case: true, path, max_results: 5 }));
    const nothing = translate(
      `\`${old}\` does not occur in \`${path}\`, so nothing was changed.`,
      `\`${path}\` 里没有 \`${old}\`，未做任何更改。`,
    );
    return near.length === 0 ? nothing : `${nothing} ${translate('Written differently:', '写法不同的有：')}\n\n${hitRows(near, translate)}`;
  }
  const edit = { old, new: next, ...(everywhere ? { replace_all: true } : {}) };
  const result = yield* call('StrReplaceFile', { path, edit });
  if (!result.isError && result.text !== '') return usersVersion(path, translate);
  if (!result.isError)
    return translate(`Done: \`${old}\` → \`${next}\` in \`${path}\`.`, `完成：\`${path}\` 中 \`${old}\` → \`${next}\`。`);
  if (!result.rejected && / occurs \d+ times /.test(result.message)) {
    return translate(
      `\`${old}\` occurs several times in \`${path}\`; nothing was changed. Say “replace all "${old}" with "${next}" in ${path}”, or give more of the text around the one you mean.\n\n${hitRows(hits, translate)}`,
      `\`${path}\` 里有多处 \`${old}\`，未做任何更改。可以说“把 ${path} 里的所有“${old}”替换成“${next}””，或给出更多上下文。\n\n${hitRows(hits, translate)}`,
    );
  }
  return sorry(result, translate);
}
