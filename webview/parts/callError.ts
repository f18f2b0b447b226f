import { nothing, type TemplateResult } from 'lit/html.js';
import { agentError } from '../../src/base/l10n.ts';
import { type CallWords, isExitLine } from '../../src/session/callWords.ts';
import type { Output, ToolCall } from '../../src/session/model.ts';
import type { View } from '../view.ts';
import { faultView } from './fault.ts';

// Agents report the failure of a call to the model and to the user, often in the same words. A card says it once.

/** The error of a call, where the card does not say it otherwise. */
export function errorView(view: View, key: string, call: ToolCall, words: CallWords): TemplateResult | typeof nothing {
  return call.error && !saysError(call, words) ? faultView(view, key, call.error) : nothing;
}

/** True when the row or the output already says the error: "The agent reports an error." tells no more than the row of a failed call. */
export function saysError({ error, output }: ToolCall, { problem }: CallWords): boolean {
  const message = plain(error?.message ?? '');
  if (message === agentError() || (problem !== undefined && (message === problem || isExitLine(message)))) return true;
  return output.some((one) => plain(textOf(one)).includes(message));
}

/** True for an output that repeats the one before it, or that the error quotes. */
export function isRepeated({ output, error }: ToolCall, index: number): boolean {
  const text = plain(textOf(output[index]));
  if (text === '') return false;
  const message = plain(error?.message ?? '');
  return text === plain(textOf(output[index - 1])) || (text !== message && message.includes(text));
}

function textOf(output: Output | undefined): string {
  return output?.kind === 'content' && output.content.type === 'text' ? output.content.text : '';
}

function plain(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
