import { localize } from '../locale.ts';
import { type Place, placeOf } from '../workspace/paths.ts';
import { ToolFailure, type ToolRunContext } from './tool.ts';

/** Where a path leads; a place outside the workspace is asked for first. */
export async function permitRead(scene: ToolRunContext, given: string): Promise<Place> {
  return permitted(scene, await locate(scene, given));
}

/** Where an edit leads, which is asked about later, with what it changes; on another server it is asked first whether that may be looked at. */
export async function placeToEdit(scene: ToolRunContext, given: string): Promise<Place> {
  const place = await locate(scene, given);
  return place.unseen ? permitted(scene, place) : place;
}

async function permitted(scene: ToolRunContext, place: Place): Promise<Place> {
  if (!place.inside) {
    const target =
      place.real === place.path
        ? `\`${place.path}\``
        : localize(`\`${place.path}\` (leads to \`${place.real}\`)`, `\`${place.path}\`（指向 \`${place.real}\`）`);
    await scene.permit({
      action: 'read outside of working directory',
      description: localize(`Read ${target}, which is outside of the working directory`, `读取工作目录之外的 ${target}`),
      shown: [{ type: 'brief', text: place.real }],
    });
  }
  return place;
}

async function locate(scene: ToolRunContext, given: string): Promise<Place> {
  if (given.trim() === '') throw new ToolFailure('The path is empty.');
  try {
    return await placeOf(scene.workspace, given);
  } catch (error) {
    throw new ToolFailure(error instanceof Error ? error.message : String(error));
  }
}
