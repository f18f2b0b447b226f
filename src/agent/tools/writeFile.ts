import * as z from 'zod/mini';
import { shortPath } from '../workspace/paths.ts';
import { permitAndWrite } from './edits.ts';
import { locate } from './permit.ts';
import { defineTool, done } from './tool.ts';

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
