import type { TestContext } from 'node:test';
import { type Harness, type HarnessOptions, harness } from './harness.ts';

type Format = 'stream-json' | 'stream-chunk-json';

/** The same script in both formats: text, calls, annotations, how it ends. */
export function speaker(format: Format) {
  const line = (choices: readonly object[], more: object = {}) =>
    format === 'stream-json'
      ? { object: 'chat.completion', id: 'c', choices, ...more }
      : { object: 'chat.completion.chunk', id: 'c', choices, ...more };
  const body = format === 'stream-json' ? 'message' : 'delta';
  const say = (said: object, finish: string | null, more: object = {}) => line([{ index: 0, [body]: said, finish_reason: finish }], more);
  return {
    say,
    receipt: (metadata: object = {}) =>
      say({ role: 'assistant' }, null, { metadata: { protocol_version: 1, session_id: 'E', ...metadata } }),
    text: (content: string, finish: string | null = null) => say({ content }, format === 'stream-json' ? (finish ?? 'stop') : finish),
    end: (finish = 'stop', more: object = {}) => say({}, finish, more),
    note: (annotation: object) => say({ annotations: [annotation] }, null),
    usage: line([], { usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } }),
  };
}

/** A session in this dialect with its first prompt sent. */
export async function talking(t: TestContext, format: Format = 'stream-json', more: HarnessOptions = {}): Promise<Harness> {
  const all = harness(t, { ...more, options: { dialect: 'envelope', format, ...more.options } });
  await all.start();
  all.last().say(speaker(format).receipt());
  await all.settle();
  await all.prompt('go');
  return all;
}
/** A tool display. */
export const display = (id: string, status: string, result: unknown, more: object = {}) => ({
  type: 'x-qwen-tool-display',
  tool_call_id: id,
  status,
  result_display: result,
  ...more,
});
