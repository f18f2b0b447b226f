import type { GuardReason } from '../../base/guardedFiles.ts';
import { localize } from '../locale.ts';
import { GUARDED_EDIT } from '../permissions.ts';
import { newFileEol } from '../workspace/newFileEol.ts';
import { type Place, placeOf, shortPath } from '../workspace/paths.ts';
import type { TextFile } from '../workspace/textFiles.ts';
import { done, type Outcome, ToolFailure, type ToolRunContext } from './tool.ts';

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
export async function permitAndWrite(scene: ToolRunContext, edit: Edit): Promise<Outcome> {
  const { place, before } = edit;
  const name = shortPath(scene.workspace, place.path);
  const shown = [{ type: 'diff' as const, path: place.path, before: before?.text ?? null, after: edit.after }];
  const verb = before ? localize('Edit', '编辑') : localize('Create', '创建');
  const outside = localize(', outside of the workspace', '，在工作区之外');
  const leads = place.real === place.path ? '' : localize(` (leads to \`${place.real}\`)`, `（指向 \`${place.real}\`）`);
  const { guarded } = place;
  const edited = await scene.permit({
    action: guarded ? GUARDED_EDIT : place.inside ? 'edit file' : 'edit file outside of working directory',
    description: `${verb} \`${name}\`${place.inside ? '' : `${outside}${leads}`}${guarded ? `. ${reasonText(guarded)}` : ''}`,
    shown,
  });
  const now = await scene.files.read(place, name);
  const again = await placeOf(scene.workspace, place.path);
  if (now?.text !== before?.text || again.real !== place.real) {
    throw new ToolFailure(`${name} changed while the edit waited for an answer. Nothing was written; read it again.`);
  }
  const after = edited?.replaceAll('\r\n', '\n') ?? edit.after;
  await scene.files.write(place, after, before ?? { eol: await newFileEol(place.real, scene.workspace.cwd), bom: false });
  if (after === edit.after) return done('', edit.message, shown);
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
      return localize('You listed it as guarded.', '您已将其列为受保护的文件。');
  }
}
