import * as z from 'zod/mini';
import type { GuardReason } from '../../base/guardedFiles.ts';
import { newFileEol } from '../../transport/newFileEol.ts';
import { localize } from '../locale.ts';
import { GUARDED_EDIT } from '../permissions.ts';
import { placeOf, type ResolvedPath, shortPath } from '../workspace/paths.ts';
import type { TextFile } from '../workspace/textFiles.ts';
import { defineTool, done, ToolFailure, type ToolOutcome, type ToolRunContext, toldFailure, WrittenByClient } from './tool.ts';

// --- where a path leads

/** Where a path leads; a place outside the workspace is asked for first. */
export async function permitRead(context: ToolRunContext, given: string): Promise<ResolvedPath> {
  return permitted(context, await locate(context, given));
}

/** Where an edit leads, which is asked about later, with what it changes; on another server it is asked first whether that may be looked at. */
async function placeToEdit(context: ToolRunContext, given: string): Promise<ResolvedPath> {
  const place = await locate(context, given);
  return place.unseen ? permitted(context, place) : place;
}

async function permitted(context: ToolRunContext, place: ResolvedPath): Promise<ResolvedPath> {
  if (!place.inside) {
    const target =
      place.real === place.path
        ? `\`${place.path}\``
        : localize(`\`${place.path}\` (leads to \`${place.real}\`)`, `\`${place.path}\`（指向 \`${place.real}\`）`);
    await context.permit({
      action: 'read outside of working directory',
      description: localize(`Read ${target}, which is outside of the working directory`, `读取工作目录之外的 ${target}`),
      shown: [{ type: 'brief', text: place.real }],
    });
  }
  return place;
}

async function locate(context: ToolRunContext, given: string): Promise<ResolvedPath> {
  if (given.trim() === '') throw toldFailure('The path is empty.', '路径为空。');
  try {
    return await placeOf(context.workspace, given);
  } catch (error) {
    throw new ToolFailure(error instanceof Error ? error.message : String(error));
  }
}

export function noSuchFile(name: string): ToolFailure {
  return toldFailure(`${name} does not exist.`, `${name} 不存在。`);
}

// --- the tools

const MAX_LINES = 1000;
const MAX_LINE = 2000;
const MAX_CHARS = 100_000;

export const readFileTool = defineTool({
  name: 'ReadFile',
  description: `Read a text file of the workspace with line numbers. At most ${MAX_LINES} lines at a time; use line_offset and n_lines for the rest.`,
  reads: true,
  input: z.object({
    path: z.string().check(z.describe('Path of the file, relative to the working directory or absolute.')),
    line_offset: z.optional(z.int().check(z.minimum(1), z.describe('First line to read, from 1.'))),
    n_lines: z.optional(z.int().check(z.minimum(1), z.describe('How many lines to read.'))),
  }),
  run: async (input, context) => {
    const place = await permitRead(context, input.path);
    const name = shortPath(context.workspace, place.path);
    const file = await context.files.read(place, name);
    if (!file) throw noSuchFile(name);
    const lines = file.text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    const first = input.line_offset ?? 1;
    if (first > Math.max(lines.length, 1))
      throw toldFailure(`${name} has only ${lines.length} lines.`, `${name} 只有 ${lines.length} 行。`);
    const width = String(Math.min(lines.length, first + MAX_LINES)).length;
    const out: string[] = [];
    let size = 0;
    for (const line of lines.slice(first - 1, first - 1 + Math.min(input.n_lines ?? MAX_LINES, MAX_LINES))) {
      const cut =
        line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}... (line of ${line.length} characters cut)` : line.replace(/\r$/, '');
      const shown = `${String(first + out.length).padStart(width)}\t${cut}`;
      size += shown.length + 1;
      if (size > MAX_CHARS && out.length > 0) break;
      out.push(shown);
    }
    const last = first + out.length - 1;
    const rest = last < lines.length ? ` The file goes on to line ${lines.length}.` : '';
    const message = lines.length === 0 ? `${name} is empty.` : `Lines ${first}-${last} of ${lines.length} of ${name}.${rest}`;
    return done(out.join('\n'), message);
  },
});

const replacement = z.object({
  old: z.string().check(z.minLength(1), z.describe('Text to replace, exactly as in the file, without line numbers.')),
  new: z.string().check(z.describe('Text to put in its place.')),
  replace_all: z.optional(z.boolean().check(z.describe('Replace every occurrence. Otherwise `old` must occur exactly once.'))),
});
type Replacement = z.infer<typeof replacement>;

export const strReplaceFileTool = defineTool({
  name: 'StrReplaceFile',
  description:
    'Replace exact text in a file. `old` must match the file to the letter, white space included, and occur exactly once unless replace_all is true. Several edits are applied in order, all or none.',
  reads: false,
  input: z.object({
    path: z.string().check(z.describe('Path of the file, relative to the working directory or absolute.')),
    edit: z.union([replacement, z.array(replacement).check(z.minLength(1))]).check(z.describe('One edit or a list of edits.')),
  }),
  run: async (input, context) => {
    const place = await placeToEdit(context, input.path);
    const name = shortPath(context.workspace, place.path);
    const before = await context.files.read(place, name);
    if (!before) throw noSuchFile(name);
    const edits = Array.isArray(input.edit) ? input.edit : [input.edit];
    let after = before.text;
    let count = 0;
    for (const [at, edit] of edits.entries()) {
      const result = replace(after, edit, edits.length > 1 ? `Edit ${at + 1}: ` : '', name);
      after = result.text;
      count += result.count;
    }
    if (after === before.text)
      throw toldFailure(`The edit does not change ${name}: old and new are the same.`, `此编辑不会改变 ${name}：新旧内容相同。`);
    return permitAndWrite(context, { place, before, after, message: `Replaced ${count} ${count === 1 ? 'place' : 'places'} in ${name}.` });
  },
});

function replace(text: string, edit: Replacement, prefix: string, name: string): { text: string; count: number } {
  const variants = [edit, { ...edit, old: lf(edit.old), new: lf(edit.new) }, { ...edit, old: crlf(edit.old), new: crlf(edit.new) }];
  const fitting = variants.find((variant) => text.includes(variant.old));
  if (!fitting)
    throw toldFailure(
      `${prefix}old was not found in ${name}.${hint(text, edit.old)} Nothing was changed.`,
      `在 ${name} 中找不到要替换的文本。未做任何更改。`,
    );
  const pieces = text.split(fitting.old);
  const count = pieces.length - 1;
  if (count > 1 && !edit.replace_all) {
    const lines = linesOf(pieces).join(', ');
    throw toldFailure(
      `${prefix}old occurs ${count} times in ${name} (lines ${lines}). Give more of the text around it, or set replace_all. Nothing was changed.`,
      `要替换的文本在 ${name} 中出现 ${count} 次（第 ${lines} 行）。未做任何更改。`,
    );
  }
  return { text: pieces.join(fitting.new), count };
}

/** Lines on which the places between the pieces begin, the first ten. */
function linesOf(pieces: readonly string[]): readonly number[] {
  const lines: number[] = [];
  let line = 1;
  for (const piece of pieces.slice(0, -1).slice(0, 10)) {
    line += piece.split('\n').length - 1;
    lines.push(line);
  }
  return lines;
}

function hint(text: string, old: string): string {
  const first = old.split('\n').find((line) => line.trim() !== '');
  if (first === undefined) return '';
  const near = text.split('\n').findIndex((line) => line.trim() === first.trim());
  return near < 0 ? '' : ` Its first line is like line ${near + 1}; white space or the lines after it differ.`;
}

function lf(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

function crlf(text: string): string {
  return lf(text).replaceAll('\n', '\r\n');
}

export const writeFileTool = defineTool({
  name: 'WriteFile',
  description:
    'Write a whole text file, or append to it. Missing folders are made. For a change inside an existing file use StrReplaceFile.',
  reads: false,
  input: z.object({
    path: z.string().check(z.describe('Path of the file, relative to the working directory or absolute.')),
    content: z.string().check(z.describe('The text to write.')),
    mode: z.optional(z.enum(['overwrite', 'append']).check(z.describe('overwrite (default) or append.'))),
  }),
  run: async (input, context) => {
    const place = await placeToEdit(context, input.path);
    const name = shortPath(context.workspace, place.path);
    const before = await context.files.read(place, name);
    const content = before?.eol === '\r\n' ? input.content.replaceAll('\r\n', '\n') : input.content;
    const after = input.mode === 'append' ? (before?.text ?? '') + content : content;
    if (before && before.text === after) return done('', `${name} has this content already. Nothing was changed.`);
    const lines = after === '' ? 0 : after.split('\n').length - (after.endsWith('\n') ? 1 : 0);
    return permitAndWrite(context, { place, before, after, message: `${before ? 'Wrote' : 'Created'} ${name} (${lines} lines).` });
  },
});

interface Edit {
  readonly place: ResolvedPath;
  readonly before: TextFile | undefined;
  readonly after: string;
  readonly message: string;
}

/**
 * Shows an edit, waits for the answer, writes exactly the edit it showed: when the file or the place it leads to changed while the
 * user was thinking, nothing is written.
 */
async function permitAndWrite(context: ToolRunContext, edit: Edit): Promise<ToolOutcome> {
  const { place, before } = edit;
  const name = shortPath(context.workspace, place.path);
  const shown = [{ type: 'diff' as const, path: place.path, before: before?.text ?? null, after: edit.after }];
  const verb = before ? localize('Edit', '编辑') : localize('Create', '创建');
  const outside = localize(', outside of the workspace', '，在工作区之外');
  const leads = place.real === place.path ? '' : localize(` (leads to \`${place.real}\`)`, `（指向 \`${place.real}\`）`);
  const { guarded } = place;
  const permission = context.permit({
    action: guarded ? GUARDED_EDIT : place.inside ? 'edit file' : 'edit file outside of working directory',
    description: `${verb} \`${name}\`${place.inside ? '' : `${outside}${leads}`}${guarded ? `. ${reasonText(guarded)}` : ''}`,
    shown,
  });
  const edited = await permission.catch((error: unknown) => {
    if (error instanceof WrittenByClient) return error;
    throw error;
  });
  if (edited instanceof WrittenByClient) return usersVersion(edit, name, (await context.files.read(place, name))?.text ?? '');
  const now = await context.files.read(place, name);
  const again = await placeOf(context.workspace, place.path);
  if (now?.text !== before?.text || again.real !== place.real) {
    throw toldFailure(
      `${name} changed while the edit waited for an answer. Nothing was written; read it again.`,
      `${name} 在编辑等待答复期间已更改。未写入任何内容。`,
    );
  }
  const after = edited?.replaceAll('\r\n', '\n') ?? edit.after;
  await context.files.write(place, after, before ?? { eol: await newFileEol(place.real, context.workspace.cwd), bom: false });
  if (after === edit.after) return done('', edit.message, shown);
  return usersVersion(edit, name, after);
}

function usersVersion({ place, before }: Edit, name: string, after: string): ToolOutcome {
  const written = [{ type: 'diff' as const, path: place.path, before: before?.text ?? null, after }];
  return done(after, `The user changed your text before allowing it. ${name} now holds the user's version, which follows.`, written);
}

function reasonText(reason: GuardReason): string {
  switch (reason) {
    case 'versionControl':
      return localize('Version control runs what it names.', '版本控制会运行其中指定的内容。');
    case 'editor':
      return localize('Editors run what it names.', '编辑器会运行其中指定的内容。');
    case 'agent':
      return localize('Agents follow it or run what it names.', '智能体会遵循其内容或运行其中指定的内容。');
    case 'shell':
      return localize('Shells and programs read it when they start.', 'shell 和程序启动时会读取它。');
    case 'automation':
      return localize('Automation runs what it names.', '自动化服务会运行其中指定的内容。');
    case 'build':
      return localize('Build tools and editors run what it names.', '构建工具和编辑器会运行其中指定的内容。');
    case 'name':
      return localize('Some systems take its name for another file.', '某些系统会把这个名称当作另一个文件。');
    case 'user':
      return localize('You listed it as guarded.', '你已将其列为受保护的文件。');
  }
}
