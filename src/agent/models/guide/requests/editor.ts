import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod/mini';
import type { Localize } from '../../../locale.ts';
import type { ModelTool } from '../../model.ts';
import { hitRows, hitsOf } from '../hits.ts';
import { count } from '../language.ts';
import { call, fence, type GuideContext, type GuideRequest, type Script, sorry } from '../script.ts';
import { fileNamed, languageOf, textOfRead } from './files.ts';
import { definitionPattern, excerpt } from './find.ts';

const OPEN: readonly RegExp[] = [
  /^(?:open|reveal|go ?to|jump to)(?: the)?(?: file)? (?<f>[^\s:]+)(?:(?::| ?,? ?(?:at |on )?line |#L)(?<n>\d+))?(?: in (?:the )?editor)?$/i,
  /^(?:go ?to|jump to|open)(?: at)? line (?<n>\d+) (?:of|in) (?<f>\S+)$/i,
  /^(?:打开|跳转?到|转到|在编辑器中打开)\s*(?:文件)?\s*(?<f>[^\s:：的第]+)(?:\s*[:：]?\s*的?\s*第?\s*(?<n>\d+)\s*行?)?$/,
];
const DEFINITION: readonly RegExp[] = [
  /^(?:go ?to|jump to|open|show|find)(?: me)?(?: the)? definition (?:of|for) (?:the )?(?<x>\S+)$/i,
  /^(?:跳转?到|转到|打开|查看|查找|显示)\s*(?<x>\S+?)\s*的?定义$/,
];
const REFERENCES: readonly RegExp[] = [
  /^(?:find|show|list)(?: me)?(?: all)?(?: the)? (?:references|usages|uses|callers) (?:of|to|for) (?<x>\S+)$/i,
  /^(?:where is|who (?:uses|calls)) (?<x>\S+?)(?: (?:used|called|referenced))?$/i,
  /^(?:查找|显示|列出)\s*(?<x>\S+?)\s*的?(?:引用|用法|调用)$/,
  /^(?:哪里|谁)(?:使用|用到|引用|调用)了?\s*(?<x>\S+)$/,
  /^(?<x>\S+?)\s*(?:在哪里?)?被?(?:哪里|谁)?(?:使用|用到|引用|调用)(?:了|过)?$/,
];
const DIAGNOSTICS =
  /^(?:(?:show|list|get|check|what|are there|any|find|see)\b.*)?\b(?:problems|diagnostics|errors|warnings)\b(?: (?:in|of|for) (?:the )?(?<f>\S+))?.*$|^(?:(?:显示|查看|列出|检查|有什么|有哪些|获取|看看)\s*)?(?:(?<g>\S+?)\s*(?:里|中)?(?:有什么|有哪些|的))?(?:诊断|问题|错误|报错|警告)(?:信息|列表)?$/i;

export const openRequest: GuideRequest = {
  match: (asked, context) => {
    for (const form of OPEN) {
      const { f, n } = form.exec(asked.masked)?.groups ?? {};
      if (f !== undefined) return open(context, asked.plain(f), n === undefined ? undefined : Number(n));
    }
    return undefined;
  },
};

export const definitionRequest: GuideRequest = {
  match: (asked, context) => {
    for (const form of DEFINITION) {
      const x = form.exec(asked.masked)?.groups?.x;
      if (x !== undefined) return definition(context, asked.plain(x));
    }
    return undefined;
  },
};

export const referencesRequest: GuideRequest = {
  match: (asked, context) => {
    for (const form of REFERENCES) {
      const match = form.exec(asked.masked);
      const x = match?.groups?.x;
      if (x !== undefined && (!/^where is/i.test(match?.[0] ?? '') || /(?:used|called|referenced)$/i.test(asked.masked)))
        return references(context, asked.plain(x));
    }
    return undefined;
  },
};

export const diagnosticsRequest: GuideRequest = {
  match: (asked, context) => {
    const match = DIAGNOSTICS.exec(asked.masked);
    if (!match || /^(?:explain|read|open|replace|解释)/i.test(asked.masked)) return undefined;
    const place = match.groups?.f ?? match.groups?.g;
    const all = place === undefined || /^(?:workspace|project|code|files?|here|当前|项目|代码|工作区|这里)$/i.test(place);
    return diagnostics(context, all ? undefined : asked.plain(place));
  },
};

/** Shows the selection or the open files of the editor. */
export const editorsRequest: GuideRequest = {
  match: (asked, context) => {
    if (/\bselect(?:ed|ion)\b|选中|选择的|选区/i.test(asked.masked)) return askEditor(context, 'get_selection');
    if (/\bopen (?:editors|files|tabs)\b|打开(?:了|的)(?:哪些|什么)?(?:文件|编辑器|标签)|(?:哪些|什么)文件(?:是)?打开/i.test(asked.masked))
      return askEditor(context, 'get_open_editors');
    return undefined;
  },
};

function notOffered(context: GuideContext, tool: string): string {
  return context.translate(`The editor did not offer me \`${tool}\` in this session.`, `编辑器在这个会话里没有提供 \`${tool}\`。`);
}

function* open(context: GuideContext, name: string, line: number | undefined): Script {
  const { translate } = context;
  const found = yield* fileNamed(context, name);
  if ('problem' in found) return found.problem;
  const at = `${found.path}${line === undefined ? '' : `:${line}`}`;
  const offer = offerOf(context, 'open_in_ide');
  if (!offer) {
    const from = Math.max(1, (line ?? 1) - 5);
    const result = yield* call('ReadFile', { path: found.path, line_offset: from, n_lines: 20 });
    if (result.isError) return sorry(result, translate);
    return `${notOffered(context, 'open_in_ide')} ${translate('Here is the place:', '内容如下：')}\n\n**${at}**\n\n${fence(textOfRead(result.text).join('\n'), languageOf(found.path))}`;
  }
  const result = yield* call('open_in_ide', editorInput(offer, { path: found.path, line }));
  return result.isError ? sorry(result, translate) : translate(`Opened \`${at}\`.`, `已打开 \`${at}\`。`);
}

function* definition(context: GuideContext, name: string): Script {
  const { translate } = context;
  const hits = hitsOf(yield* call('Grep', { pattern: definitionPattern(name), max_results: 20 }));
  const [first] = hits;
  if (!first)
    return translate(`I found no definition of \`${name}\`. Try “find ${name}”.`, `没有找到 \`${name}\` 的定义。可以试试“查找 ${name}”。`);
  const shown = yield* call('ReadFile', { path: first.path, line_offset: first.line, n_lines: 12 });
  const offer = offerOf(context, 'open_in_ide');
  const opened = offer ? yield* call('open_in_ide', editorInput(offer, { path: first.path, line: first.line })) : undefined;
  const head =
    opened && !opened.isError
      ? translate(
          `\`${name}\` is defined in \`${first.path}:${first.line}\`, now open:`,
          `\`${name}\` 定义在 \`${first.path}:${first.line}\`，已打开：`,
        )
      : translate(`\`${name}\` is defined in \`${first.path}:${first.line}\`:`, `\`${name}\` 定义在 \`${first.path}:${first.line}\`：`);
  const others = hits.length > 1 ? `\n\n${translate('Also:', '另有：')}\n\n${hitRows(hits.slice(1), translate)}` : '';
  return `${head}\n\n${excerpt(textOfRead(shown.text), first.line, 'text')}${others}`;
}

function* references(context: GuideContext, name: string): Script {
  const { translate } = context;
  const offer = offerOf(context, 'find_references');
  const place = offer ? hitsOf(yield* call('Grep', { pattern: definitionPattern(name), max_results: 1 }))[0] : undefined;
  if (offer && place) {
    const result = yield* call(
      'find_references',
      editorInput(offer, { path: place.path, line: place.line, column: place.text.indexOf(name) + 1, symbol: name }),
    );
    const places = result.isError ? [] : placesIn(result.text, context.cwd);
    if (places.length > 0) {
      return `${translate(`References to \`${name}\`, from the editor:`, `编辑器给出的 \`${name}\` 的引用：`)}\n\n${places.join('\n')}`;
    }
  }
  const word = name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const hits = hitsOf(yield* call('Grep', { pattern: `(^|[^\\w$])${word}([^\\w$]|$)`, max_results: 100 }));
  if (hits.length === 0) return translate(`\`${name}\` does not occur in this workspace.`, `这个工作区里没有 \`${name}\`。`);
  return `${translate(`\`${name}\` occurs ${count(hits.length, 'time')}:`, `\`${name}\` 出现 ${hits.length} 次：`)}\n\n${hitRows(hits, translate)}`;
}

function* diagnostics(context: GuideContext, name: string | undefined): Script {
  const { translate } = context;
  const offer = offerOf(context, 'get_diagnostics');
  if (!offer) {
    return `${notOffered(context, 'get_diagnostics')} ${translate('I can run a check instead, for example: run `npm run lint`', '可以改为运行检查，例如：运行 `npm run lint`')}`;
  }
  let path: string | undefined;
  if (name !== undefined) {
    const found = yield* fileNamed(context, name);
    if ('problem' in found) return found.problem;
    path = found.path;
  }
  const result = yield* call('get_diagnostics', editorInput(offer, path === undefined ? {} : { path }));
  if (result.isError) return sorry(result, translate);
  const text = (result.text === '' ? result.message : result.text).trim();
  const place = path === undefined ? '' : translate(` in \`${path}\``, `（\`${path}\`）`);
  const rows = problemsIn(text, context.cwd, translate);
  if (rows?.length === 0 || /^(?:\[\]|\{\}|)$/.test(text))
    return translate(`The editor reports no problems${place}.`, `编辑器没有报告任何问题${place}。`);
  return `${translate(`The editor reports${place}:`, `编辑器报告的问题${place}：`)}\n\n${rows?.join('\n') ?? fence(text.slice(0, 6000), /^[[{]/.test(text) ? 'json' : '')}`;
}

function* askEditor(context: GuideContext, tool: string): Script {
  const { translate } = context;
  if (!offerOf(context, tool)) return notOffered(context, tool);
  const result = yield* call(tool, {});
  if (result.isError) return sorry(result, translate);
  const text = (result.text === '' ? result.message : result.text).trim();
  const selected = selectionIn(text, context.cwd);
  if (selected) {
    const head =
      selected.text === ''
        ? translate(`Nothing is selected; the cursor is at \`${selected.place}\`.`, `没有选中内容；光标在 \`${selected.place}\`。`)
        : `**${selected.place}**`;
    return selected.text === '' ? head : `${head}\n\n${fence(selected.text, selected.language)}`;
  }
  const open = editorsIn(text, context.cwd, translate);
  if (open)
    return open.length === 0
      ? translate('No file is open.', '没有打开的文件。')
      : `${translate('Open in the editor:', '编辑器中打开的文件：')}\n\n${open.join('\n')}`;
  return `${translate('From the editor:', '来自编辑器：')}\n\n${fence(text.slice(0, 6000), /^[[{]/.test(text) ? 'json' : '')}`;
}

/** The client's tool of that name, when it offers it. */
function offerOf(context: GuideContext, name: string): ModelTool | undefined {
  return context.offers.find((offer) => offer.name === name);
}

const names = {
  path: ['path', 'file', 'filePath', 'file_path', 'uri'],
  line: ['line', 'start_line', 'startLine', 'line_start', 'lineNumber'],
  column: ['column', 'character', 'col', 'start_column', 'startColumn'],
  symbol: ['symbol', 'name'],
} as const;

/**
 * Arguments in the words of the tool's own schema: its names for path, line and column, counted from 0 where its descriptions say so. Line and
 * column are given from 1.
 */
function editorInput(
  offer: ModelTool,
  given: {
    path?: string | undefined;
    line?: number | undefined;
    column?: number | undefined;
    symbol?: string | undefined;
  },
): object {
  const properties = propertiesOf(offer);
  const text = `${offer.description} ${JSON.stringify(properties)}`;
  const first = /(?:0|zero)[- ]based|from 0/i.test(text) && !/(?:1|one)[- ]based|from 1/i.test(text) ? 0 : 1;
  const input: Record<string, unknown> = {};
  for (const key of ['path', 'line', 'column', 'symbol'] as const) {
    const value = given[key];
    const name = names[key].find((one) => Object.hasOwn(properties, one));
    // A name is clearer than a column.
    if (key === 'symbol' && name !== undefined) for (const column of names.column) delete input[column];
    if (value !== undefined && name !== undefined) input[name] = typeof value === 'number' ? value - 1 + first : value;
  }
  return input;
}

function propertiesOf(offer: ModelTool): Readonly<Record<string, unknown>> {
  const { properties } = offer.parameters;
  return typeof properties === 'object' && properties !== null ? { ...properties } : {};
}

const position = z.object({ line: z.number(), character: z.number() });
const range = z.object({ start: position, end: position });
const diagnosticsShape = z.object({
  count: z.number(),
  files: z.array(
    z.object({
      path: z.string(),
      diagnostics: z.array(
        z.object({
          range,
          message: z.string(),
          severity: z.optional(z.number()),
          source: z.optional(z.string()),
          code: z.optional(z.union([z.string(), z.number()])),
        }),
      ),
    }),
  ),
});
const locations = z.object({ locations: z.array(z.object({ uri: z.string(), range })) });
const selection = z.object({ path: z.string(), language: z.optional(z.string()), range, text: z.string() });
const editors = z.object({
  editors: z.array(z.object({ path: z.string(), active: z.optional(z.boolean()), unsaved: z.optional(z.boolean()) })),
});

const MOST = 50;
const marks: Readonly<Record<number, readonly [string, string]>> = {
  1: ['error', '错误'],
  2: ['warning', '警告'],
  3: ['info', '信息'],
  4: ['hint', '提示'],
};

/** The editor's diagnostics as a Markdown list; empty when there are none, undefined when the answer has another shape. Positions are LSP's. */
function problemsIn(text: string, cwd: string, translate: Localize): readonly string[] | undefined {
  const found = parse(diagnosticsShape, text);
  return found?.files
    .flatMap((file) =>
      file.diagnostics.map((one) => {
        const [english, chinese] = marks[one.severity ?? 1] ?? ['error', '错误'];
        const from = [one.source, one.code].filter((part) => part !== undefined).join(' ');
        return `- \`${short(file.path, cwd)}:${one.range.start.line + 1}\` **${translate(english, chinese)}** ${one.message}${from === '' ? '' : ` (${from})`}`;
      }),
    )
    .slice(0, MOST);
}

/** LSP locations as a Markdown list. */
function placesIn(text: string, cwd: string): readonly string[] {
  const found = parse(locations, text)?.locations ?? [];
  return found.slice(0, MOST).map((one) => `- \`${short(one.uri, cwd)}:${one.range.start.line + 1}\``);
}

/** The selection: where it is and its text; undefined when the answer has another shape. */
function selectionIn(text: string, cwd: string): { readonly place: string; readonly text: string; readonly language: string } | undefined {
  const found = parse(selection, text);
  if (!found) return undefined;
  const [from, to] = [found.range.start.line + 1, found.range.end.line + 1];
  return { place: `${short(found.path, cwd)}:${from}${to > from ? `-${to}` : ''}`, text: found.text, language: found.language ?? '' };
}

/** The open files as a Markdown list; undefined when the answer has another shape. */
function editorsIn(text: string, cwd: string, translate: Localize): readonly string[] | undefined {
  return parse(editors, text)
    ?.editors.slice(0, MOST)
    .map((one) => {
      const notes = [one.active ? translate('active', '当前') : '', one.unsaved ? translate('unsaved', '未保存') : ''].filter(
        (note) => note !== '',
      );
      return `- \`${short(one.path, cwd)}\`${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`;
    });
}

function parse<S extends z.ZodMiniType>(schema: S, text: string): z.infer<S> | undefined {
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/** A path or file address, relative where it lies below the working directory. */
function short(given: string, cwd: string): string {
  const file = given.startsWith('file:') ? fileURLToPath(given) : given;
  const relative = path.isAbsolute(file) ? path.relative(cwd, file) : file;
  return relative === '' || relative.startsWith('..') ? file : relative.split(path.sep).join('/');
}
