import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod/mini';
import type { Localize } from '../../locale.ts';

const position = z.object({ line: z.number(), character: z.number() });
const range = z.object({ start: position, end: position });
const diagnostics = z.object({
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
export function problemsIn(text: string, cwd: string, say: Localize): readonly string[] | undefined {
  const found = parse(diagnostics, text);
  return found?.files
    .flatMap((file) =>
      file.diagnostics.map((one) => {
        const [english, chinese] = marks[one.severity ?? 1] ?? ['error', '错误'];
        const from = [one.source, one.code].filter((part) => part !== undefined).join(' ');
        return `- \`${short(file.path, cwd)}:${one.range.start.line + 1}\` **${say(english, chinese)}** ${one.message}${from === '' ? '' : ` (${from})`}`;
      }),
    )
    .slice(0, MOST);
}

/** LSP locations as a Markdown list. */
export function placesIn(text: string, cwd: string): readonly string[] {
  const found = parse(locations, text)?.locations ?? [];
  return found.slice(0, MOST).map((one) => `- \`${short(one.uri, cwd)}:${one.range.start.line + 1}\``);
}

/** The selection: where it is and its text; undefined when the answer has another shape. */
export function selectionIn(
  text: string,
  cwd: string,
): { readonly place: string; readonly text: string; readonly language: string } | undefined {
  const found = parse(selection, text);
  if (!found) return undefined;
  const [from, to] = [found.range.start.line + 1, found.range.end.line + 1];
  return { place: `${short(found.path, cwd)}:${from}${to > from ? `-${to}` : ''}`, text: found.text, language: found.language ?? '' };
}

/** The open files as a Markdown list; undefined when the answer has another shape. */
export function editorsIn(text: string, cwd: string, say: Localize): readonly string[] | undefined {
  return parse(editors, text)
    ?.editors.slice(0, MOST)
    .map((one) => {
      const notes = [one.active ? say('active', '当前') : '', one.unsaved ? say('unsaved', '未保存') : ''].filter((note) => note !== '');
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
