import { localize } from '../locale.ts';
import { type Place, placeOf, shortPath } from '../workspace/paths.ts';
import type { TextFile } from '../workspace/textFiles.ts';
import { done, type Outcome, ToolFailure, type ToolScene } from './tool.ts';

export interface Edit {
  readonly place: Place;
  readonly before: TextFile | undefined;
  readonly after: string;
  readonly message: string;
}

/**
 * Shows an edit, waits for the answer, writes. What was shown is what is written: when the file or the place it leads to changed while the
 * user was thinking, nothing is written.
 */
export async function permitAndWrite(scene: ToolScene, edit: Edit): Promise<Outcome> {
  const { place, before } = edit;
  const name = shortPath(scene.workspace, place.path);
  const shown = [{ type: 'diff' as const, path: place.path, before: before?.text ?? null, after: edit.after }];
  const verb = before ? localize('Edit', '编辑') : localize('Create', '创建');
  const outside = localize(', outside of the workspace', '，在工作区之外');
  const leads = place.real === place.path ? '' : localize(` (leads to \`${place.real}\`)`, `（指向 \`${place.real}\`）`);
  const edited = await scene.permit({
    action: place.inside ? 'edit file' : 'edit file outside of working directory',
    description: `${verb} \`${name}\`${place.inside ? '' : `${outside}${leads}`}`,
    shown,
  });
  const now = await scene.files.read(place, name);
  const again = await placeOf(scene.workspace, place.path);
  if (now?.text !== before?.text || again.real !== place.real) {
    throw new ToolFailure(`${name} changed while the edit waited for an answer. Nothing was written; read it again.`);
  }
  const after = edited?.replaceAll('\r\n', '\n') ?? edit.after;
  await scene.files.write(place, after, before ?? { eol: '\n', bom: false });
  if (after === edit.after) return done('', edit.message, shown);
  const written = [{ type: 'diff' as const, path: place.path, before: before?.text ?? null, after }];
  return done(after, `The user changed your text before allowing it. ${name} now holds the user's version, which follows.`, written);
}
