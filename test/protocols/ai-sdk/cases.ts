import type { Effect, Input } from '../../../src/conversation/machine.ts';
import { aiSdkMachine } from '../../../src/protocols/ai-sdk/machine.ts';
import type { AiSdkState } from '../../../src/protocols/ai-sdk/state.ts';
import { describe, type TranscriptProtocol } from '../../conversation/transcripts.ts';
import { newState, type StateOptions } from './state.ts';

/*
 * `chunk [N] {…}`, `text [N] ID "…"` (a whole block), `call [N] TOOL ID {input}`, `output [N] ID value`, `done [N]`, `ended [N]` and `cut [N]` are
 * what arrives in the response `chat N`; without N the first one. `opened [N] {…}` are its headers, `refuses [N] STATUS "…"` and `fails [N] KIND "…"`
 * come in their place. `awaits [N] ID` is the event that says a response waits for a result. Asks are called i1, i2; messages of ours u1, u2.
 */
const tool = { description: '', parameters: { type: 'object' } };
const tools = [{ name: 'look', ...tool }];
const SEED = '00000000-0000-4000-8000-000000000000';

export const aiSdkCases: TranscriptProtocol<AiSdkState> = {
  name: 'ai-sdk',
  folder: 'test/protocols/ai-sdk/cases',
  machine: aiSdkMachine,
  link: 'chat 1',
  start: ({ setup, begun = true, ...options }) => ({
    state: newState({ setup: { tools, ...(setup as object) }, ...options } as StateOptions),
    inputs: ['start', ...(begun ? ['prompt t', 'reply settings {}', 'opened'] : [])],
  }),
  inputs: {
    answer: (name, value) => {
      const [askId = '', optionId] = name.split(' ');
      const id = askId.replace(/^i/, SEED);
      if (optionId === undefined) return answered(id, value ? { kind: 'fields', values: value } : { kind: 'cancelled' });
      return answered(id, { kind: 'option', optionId, ...(typeof value === 'string' ? { feedback: value } : {}) });
    },
    again: (name) => ({
      on: 'intent',
      intent: { type: 'prompt', turnId: `${name}'`, content: [{ type: 'text', text: 'go' }], again: name },
    }),
    opened: (name, value) => {
      const headers = typeof value === 'object' ? value : {};
      return message(only(name, value), 'opened', { resumableId: null, runId: null, stopUrl: null, replay: false, ...headers });
    },
    refuses: (name, value) => {
      const numbers = `${name} ${typeof value === 'number' ? value : ''}`.trim().split(' ');
      const said = typeof value === 'string' ? value : 'no';
      const refused = { status: Number(numbers.at(-1)), message: `It said: ${said}`, next: ['retry'], said };
      return message(numbers.length > 1 ? (numbers[0] ?? '') : '', 'refused', refused);
    },
    fails: (name, value) => {
      const { n, rest } = numbered(name);
      return message(n, 'failed', { kind: rest, message: value ?? 'gone' });
    },
    chunk: (name, value) => message(name, 'chunk', value),
    text: (name, value) => {
      const { n, rest: id } = numbered(name);
      return message(n, 'chunks', [
        { type: 'text-start', id },
        { type: 'text-delta', id, delta: value },
        { type: 'text-end', id },
      ]);
    },
    call: (name, value) => {
      const { n, rest } = numbered(name);
      const [toolName, toolCallId] = rest.split(' ');
      return message(n, 'chunk', { type: 'tool-input-available', toolCallId, toolName, input: value ?? {} });
    },
    output: (name, value) => {
      const { n, rest: toolCallId } = numbered(name);
      return message(n, 'chunk', { type: 'tool-output-available', toolCallId, output: value });
    },
    awaits: (name) => {
      const { n, rest: toolCallId } = numbered(name);
      return message(n, 'tool-call', { toolCallId, state: 'requires-action' });
    },
    done: (name, value) => message(only(name, value), 'done', null),
    tooLong: (name) => message(name, 'tooLong', null),
    sent: (name, value) => message(name, 'sent', { size: value }),
    ended: (name, value) => ({ on: 'closed', link: `chat ${only(name, value) || 1}`, why: { reason: 'It closed.' } }),
    cut: (name, value) => ({ on: 'closed', link: `chat ${only(name, value) || 1}`, why: { reason: 'It broke.', failure: 'broken' } }),
  },
  describe: (effect) => {
    if (effect.do === 'timer' && effect.after === null) return null;
    const text = shortened(effect);
    return text
      ?.replaceAll(new RegExp(`${SEED}(\\d+)`, 'g'), 'i$1')
      .replaceAll(new RegExp(`${SEED.slice(0, 24)}0*([0-9a-f]+)`, 'g'), 'u$1');
  },
};

function answered(askId: string, answer: object): Input {
  return { on: 'intent', intent: { type: 'answer', askId, answer } as never };
}
function message(n: string, method: string, params: unknown): Input {
  return { on: 'message', link: `chat ${n || 1}`, method, params };
}
/** A number alone is read as a value. */
function only(name: string, value: unknown): string {
  return typeof value === 'number' ? String(value) : name;
}
/** A leading number is the response. */
function numbered(name: string): { readonly n: string; readonly rest: string } {
  const [first = '', ...more] = name.split(' ');
  return /^\d+$/.test(first) ? { n: first, rest: more.join(' ') } : { n: '', rest: name };
}

/** Requests without what is the same in each, and the saved messages of a turn. */
function shortened(effect: Effect): string | undefined {
  if (effect.do === 'open') {
    const { body, resume } = effect.params as { readonly body?: Record<string, unknown>; readonly resume?: object };
    if (!body) return `open ${effect.link} resume ${JSON.stringify(resume)}`;
    const { id: _id, sessionId: _session, tools, trigger, messageId, ...rest } = body;
    // The usual declaration is an object.
    const more = Array.isArray(tools) ? { tools, ...rest } : rest;
    return `open ${effect.link} ${String(trigger)}${messageId === undefined ? '' : ` ${String(messageId)}`} ${JSON.stringify(more)}`;
  }
  if (effect.do === 'emit' && effect.event.type === 'turn.adapterState') {
    const saved = effect.event.value as { readonly messages: unknown; readonly unsent?: object } | null;
    return saved
      ? `saved ${JSON.stringify(saved.messages)}${saved.unsent ? ` unsent ${JSON.stringify(saved.unsent)}` : ''}`
      : 'saved nothing';
  }
  return describe(effect);
}
