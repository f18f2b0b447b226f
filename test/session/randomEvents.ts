import type { SessionEvent } from '../../src/session/events.ts';
import type { ToolCall } from '../../src/session/model.ts';
import { randomFrom } from '../random.ts';

/** A deterministic stream of events, fitting and unfitting, from a seed. */
export function randomEvents(seed: number, count: number): readonly SessionEvent[] {
  const random = randomFrom(seed);
  const pick = <T>(...choices: readonly T[]): T => choices[random(choices.length)] as T;
  const turn = () => `t${random(4)}`;
  const part = () => `p${random(6)}`;
  const call = (): ToolCall => ({
    id: part(),
    name: 'Tool',
    title: 'Tool',
    kind: 'other',
    status: pick('pending', 'running', 'done'),
    inputText: '',
    output: [],
    locations: [],
  });
  const makers: readonly (() => SessionEvent)[] = [
    () => ({ type: 'turn.started', turnId: turn(), at: 1, prompt: [] }),
    () => ({ type: 'turn.ended', turnId: turn(), at: 2, status: pick('done', 'cancelled', 'failed') }),
    () => ({ type: 'text.delta', turnId: turn(), kind: pick('text', 'thought'), partId: part(), text: pick('a', 'b', '') }),
    () => ({ type: 'text.delta', turnId: 't0', kind: 'text', partId: 'p0', text: pick('a', 'b', '中😀') }),
    () => ({ type: 'text.set', turnId: turn(), partId: part(), text: pick('', 'ab', 'c') }),
    () => ({ type: 'terminal.changed', terminal: { id: `x${random(2)}` }, delta: pick('', 'again'), reset: true }),
    () => {
      const one = call();
      return { type: 'part.added', turnId: turn(), part: { kind: 'call', id: one.id, call: one } };
    },
    () => ({
      type: 'call.changed',
      turnId: turn(),
      callId: part(),
      change: { status: pick('running', 'done', 'failed'), title: pick('x', 'y') },
    }),
    () => ({ type: 'call.inputDelta', turnId: turn(), callId: part(), text: pick('{', '}', '') }),
    () => ({ type: 'parts.removed', turnId: turn(), partIds: [part()] }),
    () => ({
      type: 'ask.opened',
      ask: { kind: 'approval', id: `a${random(5)}`, turnId: turn(), title: 'Q', detail: { type: 'text', text: 'x' }, options: [] },
    }),
    () => ({ type: 'ask.revised', askId: `a${random(5)}`, diffs: pick([], [{ path: 'x', before: null, after: 'y' }]) }),
    () => ({ type: 'ask.closed', askId: `a${random(5)}`, how: 'answered' }),
    () => ({ type: 'terminal.changed', terminal: { id: `x${random(2)}`, command: pick('ls', 'cat') }, delta: 'out'.repeat(random(5)) }),
    () => ({ type: 'usage.set', usage: { used: random(9) } }),
    () => ({ type: 'plan.set', plan: pick(null, { entries: [] }) }),
    () => ({ type: 'link.ready', agent: { protocol: 'p', name: 'A' }, offers: {} }),
    () => ({ type: 'notice', notice: { level: 'info', text: 'n' } }),
  ];
  return Array.from({ length: count }, () => pick(...makers)());
}
