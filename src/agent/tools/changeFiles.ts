import * as z from 'zod/mini';
import { shortPath } from '../workspace/paths.ts';
import { permitAndWrite } from './edits.ts';
import { locate } from './permit.ts';
import { defineTool, done, ToolFailure } from './tool.ts';

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
  run: async (input, scene) => {
    const place = await locate(scene, input.path);
    const name = shortPath(scene.workspace, place.path);
    const before = await scene.files.read(place, name);
    if (!before) throw new ToolFailure(`${name} does not exist.`);
    const edits = Array.isArray(input.edit) ? input.edit : [input.edit];
    let after = before.text;
    let count = 0;
    for (const [at, edit] of edits.entries()) {
      const result = replace(after, edit, edits.length > 1 ? `Edit ${at + 1}: ` : '', name);
      after = result.text;
      count += result.count;
    }
    if (after === before.text) throw new ToolFailure(`The edit does not change ${name}: old and new are the same.`);
    return permitAndWrite(scene, { place, before, after, message: `Replaced ${count} ${count === 1 ? 'place' : 'places'} in ${name}.` });
  },
});

function replace(text: string, edit: Replacement, prefix: string, name: string): { text: string; count: number } {
  const variants = [edit, { ...edit, old: lf(edit.old), new: lf(edit.new) }, { ...edit, old: crlf(edit.old), new: crlf(edit.new) }];
  const fitting = variants.find((variant) => text.includes(variant.old));
  if (!fitting) throw new ToolFailure(`${prefix}old was not found in ${name}.${hint(text, edit.old)} Nothing was changed.`);
  const pieces = text.split(fitting.old);
  const count = pieces.length - 1;
  if (count > 1 && !edit.replace_all) {
    throw new ToolFailure(
      `${prefix}old occurs ${count} times in ${name} (lines ${linesOf(pieces).join(', ')}). Give more of the text around it, or set replace_all. Nothing was changed.`,
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
  run: async (input, scene) => {
    const place = await locate(scene, input.path);
    const name = shortPath(scene.workspace, place.path);
    const before = await scene.files.read(place, name);
    const content = before?.eol === '\r\n' ? input.content.replaceAll('\r\n', '\n') : input.content;
    const after = input.mode === 'append' ? (before?.text ?? '') + content : content;
    if (before && before.text === after) return done('', `${name} has this content already. Nothing was changed.`);
    const lines = after === '' ? 0 : after.split('\n').length - (after.endsWith('\n') ? 1 : 0);
    return permitAndWrite(scene, { place, before, after, message: `${before ? 'Wrote' : 'Created'} ${name} (${lines} lines).` });
  },
});
