import type { ApprovalAnswer } from '../../frontend.ts';
import { isRecord, type Json, type Part } from './wire.ts';

/** A user's answer to the approval of the call of that id. */
export interface Decision {
  readonly id: string;
  readonly answer: ApprovalAnswer;
}

/** The decisions in the parts of a message; none in most (docs/protocols/a2a.md §6). Of contradictory ones about a call, none allows it. */
export function decisionsIn(parts: readonly Part[]): readonly Decision[] {
  const found = new Map<string, ApprovalAnswer>();
  for (const part of parts) {
    const data = 'data' in part ? part.data : {};
    const id = agreed(data.tool_call_id, data.toolCallId);
    const options = [data.selected_option_id, data.selectedOptionId].filter((option) => typeof option === 'string');
    if (typeof id !== 'string' || options.length === 0) continue;
    const answer = answerIn(data, agreed(...options));
    const before = found.get(id);
    found.set(id, before === undefined || JSON.stringify(before) === JSON.stringify(answer) ? answer : { allow: false });
  }
  return [...found].map(([id, answer]) => ({ id, answer }));
}

/** The one value that is there, in whatever style of names; undefined when there are two. */
function agreed<T>(...values: readonly T[]): T | undefined {
  const given = new Set(values.filter((value) => value !== undefined && value !== null));
  return given.size === 1 ? [...given][0] : undefined;
}

function answerIn(data: Json, option: string | undefined): ApprovalAnswer {
  // Only an offered option counts as approval.
  if (option !== 'proceed_once' && option !== 'proceed_always') return { allow: false };
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
