import type { Localize } from '../../locale.ts';
import type { HistoryMessage, ModelTool, ToolMessage } from '../model.ts';
import type { UserRequest } from './language.ts';

/** The guide's next step: a text, and calls to wait for. */
export interface GuideStep {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: object }[];
}

/**
 * A request being worked on: yields moves, is given the results of their calls, returns the closing text. It is run again from the beginning
 * at every step of a turn with the results so far, so it may look at nothing but its arguments and those results.
 */
export type Script = Generator<GuideStep, string, readonly ToolMessage[]>;
/** A part of a script that gives a value instead of the closing text. */
export type ScriptPart<T> = Generator<GuideStep, T, readonly ToolMessage[]>;

export interface GuideContext {
  readonly cwd: string;
  readonly translate: Localize;
  readonly offers: readonly ModelTool[];
  readonly history: readonly HistoryMessage[];
}

/** One thing the guide understands. `match` gets the request with quoted text masked. */
export interface GuideRequest {
  match(asked: UserRequest, context: GuideContext): Script | undefined;
}

/** Calls one tool. */
export function* call(name: string, input: object, text = ''): ScriptPart<ToolMessage> {
  const [result] = yield { text, calls: [{ name, input }] };
  if (!result) throw new Error(`no result of ${name}`);
  return result;
}

/** Lines of a result that lists one thing a line. */
export function linesOf(result: ToolMessage): readonly string[] {
  return result.isError || result.text === '' ? [] : result.text.split('\n');
}

/** The answer after a failed call: for a rejection, or with the tool's own message. */
export function sorry(result: ToolMessage, translate: Localize): string {
  if (!result.rejected) return translate(`That did not work: ${result.message}`, `没有成功：${result.message}`);
  const words = / The user says: ([\s\S]*)$/.exec(result.message)?.[1];
  const told = words === undefined ? '' : translate(` You said: “${words}”.`, `你说：“${words}”。`);
  return translate('Rejected, nothing was changed.', '已拒绝，未做任何更改。') + told;
}

export function fence(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((match) => match[0].length));
  const ticks = '`'.repeat(longest + 1);
  return `${ticks}${language}\n${text.replace(/\n$/, '')}\n${ticks}`;
}
