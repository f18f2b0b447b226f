import type { ApprovalAnswer } from '../../frontend.ts';
import { isRecord, type Json, type Part } from './wire.ts';

/** A user's answer to the approval of the call of that id. */
export interface Decision {
  readonly id: string;
  readonly answer: ApprovalAnswer;
}

/** The ToolCallConfirmation in a part of a message, in either style of names; none in most (docs/protocols/a2a.md §6). */
export function decisionIn(part: Part): readonly Decision[] {
  if (!('data' in part)) return [];
  const { data } = part;
  const id = data.tool_call_id ?? data.toolCallId;
  const option = data.selected_option_id ?? data.selectedOptionId;
  if (typeof id !== 'string' || typeof option !== 'string') return [];
  // Only an offered option counts as approval.
  if (option !== 'proceed_once' && option !== 'proceed_always') return [{ id, answer: { allow: false } }];
  const edited = editedIn(data);
  // A user who changed the proposal has not approved the original.
  if (edited === unreadable)
    return [{ id, answer: { allow: false, feedback: 'The user changed the proposed text, but the change could not be read.' } }];
  return [{ id, answer: { allow: true, forSession: option === 'proceed_always', ...(edited === undefined ? {} : { edited }) } }];
}

const unreadable = Symbol('unreadable');

/** Reads the user's text of the file: the oneof has no name in ProtoJSON, but some writers wrap it in its name. */
function editedIn(data: Json): string | undefined | typeof unreadable {
  const wrapper = data.modified_details ?? data.modifiedDetails ?? undefined;
  const inside = isRecord(wrapper) && Object.keys(wrapper).length > 0 ? wrapper : undefined;
  const file = data.file_details ?? data.fileDetails ?? inside?.file_details ?? inside?.fileDetails ?? inside;
  if (file === undefined) return wrapper === undefined || isRecord(wrapper) ? undefined : unreadable;
  const edited = isRecord(file) ? (file.new_content ?? file.newContent) : undefined;
  return typeof edited === 'string' ? edited : unreadable;
}
