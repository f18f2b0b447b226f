import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Diff } from '../../session/model.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * True when the call is about a file that is not there yet, false when it is there; undefined while no whole path is known. Gemini's
 * server says an empty text before for both (seen in 0.25.2), so it is looked up when the call is first told, before it has run.
 */
export function makesFile(call: Snapshot): boolean | undefined {
  const { detail } = call.request ?? {};
  const input = call.input as { readonly file_path?: unknown; readonly path?: unknown } | null | undefined;
  const diff = detail?.type === 'edit' ? detail.diffs[0] : call.diff;
  const file = diff?.path ?? input?.file_path ?? input?.path;
  return typeof file === 'string' && path.isAbsolute(file) && !file.includes('\0') ? !existsSync(file) : undefined;
}

/** The call with no text at all before its edit, where the server said an empty one. */
export function asNew(call: Snapshot): Snapshot {
  const { diff, request } = call;
  const detail = request?.detail.type === 'edit' ? { ...request.detail, diffs: request.detail.diffs.map(fromNothing) } : request?.detail;
  return {
    ...call,
    ...(diff ? { diff: fromNothing(diff) } : {}),
    ...(request && detail ? { request: { ...request, detail } } : {}),
  };
}

function fromNothing(diff: Diff): Diff {
  return diff.before === '' && !diff.summary ? { ...diff, before: null } : diff;
}
