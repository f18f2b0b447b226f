import type { ApprovalAnswer } from '../../frontend.ts';
import { invalidParams, isRecord, type Json, type Part } from './wire.ts';

/** The options of every approval. */
export const OPTION_IDS = ['proceed_once', 'proceed_always', 'cancel'] as const;

/** A user's answer to the approval of the call of that id. */
export interface Decision {
  readonly id: string;
  readonly answer: ApprovalAnswer;
}

/**
 * The decisions in the parts of a message; none in most (docs/protocols/a2a.md §6). Throws invalidParams for one that names no call, an option that
 * was not offered, or contradicts another: none of the message then counts.
 */
export function decisionsIn(parts: readonly Part[]): readonly Decision[] {
  const found = new Map<string, ApprovalAnswer>();
  for (const part of parts) {
    if (!('data' in part)) continue;
    const options = [part.data.selected_option_id, part.data.selectedOptionId].filter((option) => option != null);
    const ids = [part.data.tool_call_id, part.data.toolCallId].filter((id) => id != null);
    if (options.length === 0 && ids.length === 0) continue;
    const id = agreed(...ids);
    if (typeof id !== 'string') throw invalidParams('A decision has to name one call in tool_call_id.');
    const answer = answerIn(part.data, agreed(...options), id);
    const before = found.get(id);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(answer))
      throw invalidParams(`The message decides twice about the call ${shortened(id)}.`);
    found.set(id, answer);
  }
  return [...found].map(([id, answer]) => ({ id, answer }));
}

/** An id as errors repeat it. */
export function shortened(id: string): string {
  return id.length <= 100 ? id : `${id.slice(0, 100)}…`;
}

/** The one value that is there, in whatever style of names; undefined when there are two. */
function agreed<T>(...values: readonly T[]): T | undefined {
  const given = new Set(values.filter((value) => value !== undefined && value !== null));
  return given.size === 1 ? [...given][0] : undefined;
}

function answerIn(data: Json, option: unknown, id: string): ApprovalAnswer {
  if (!OPTION_IDS.some((offered) => offered === option))
    throw invalidParams(`The decision about the call ${shortened(id)} has to select one of its options: ${OPTION_IDS.join(', ')}.`);
  if (option === 'cancel') return { allow: false };
  const edited = editedIn(data);
  // A user who changed the proposal has not approved the original.
  if (edited === unreadable) return { allow: false, feedback: 'The user changed the proposed text, but the change could not be read.' };
  return { allow: true, forSession: option === 'proceed_always', ...(edited === undefined ? {} : { edited }) };
}

const unreadable = Symbol('unreadable');

/** Reads the user's text of the file: the oneof has no name in ProtoJSON, but some writers wrap it in its name. */
function editedIn(data: Json): string | undefined | typeof unreadable {
  const wrapper = data.modified_details ?? data.modifiedDetails ?? undefined;
  const inside = isRecord(wrapper) && Object.keys(wrapper).length > 0 ? wrapper : undefined;
  const files = [data.file_details, data.fileDetails, inside?.file_details, inside?.fileDetails].filter(
    (file) => file !== undefined && file !== null,
  );
  if (inside && (files.length === 0 || 'new_content' in inside || 'newContent' in inside)) files.push(inside);
  if (files.length === 0) return wrapper === undefined || isRecord(wrapper) ? undefined : unreadable;
  const edited = agreed(...files.flatMap((file) => (isRecord(file) ? [file.new_content, file.newContent] : [])));
  return typeof edited === 'string' ? edited : unreadable;
}
