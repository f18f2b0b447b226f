import type { Effect, Input } from '../../../src/conversation/machine.ts';
import { a2aMachine } from '../../../src/protocols/a2a/machine.ts';
import { type A2aAgent, type A2aState, type A2aTiming, newA2a, TIMING } from '../../../src/protocols/a2a/state.ts';
import type { TranscriptProtocol } from '../../conversation/transcripts.ts';
import { URI } from '../../fakes/a2a.ts';

/*
 * Cases of A2A. The setup of a case is what its agent says of itself, where that is not the usual one: {"peer":{…},"push":true,"starts":true,"past":[…],"timing":{…}}.
 *
 * Inputs of its own, each for `stream N`: record N {…} · text N "words" · task N {…} · state N "completed" (the last word, a state) ·
 * call N {…} (a call of the RFC) · gemini N {…} (a call of the Gemini CLI server) · bodyOf N {…} (an answer that is no stream) · file N {…} (what the file of a call is) · sent N (over the turn's connection) · sentBeside N · held N "why" · answered N · opened N · ended N ·
 * broke N "why" · failed N {…} (another end) · refusedBy N {"code":…,"message":…}. Checkpoints, timers of housekeeping, dropped calls and options are left out.
 */

type Setup = {
  readonly peer?: object;
  readonly past?: [];
  readonly resume?: string;
  readonly starts?: boolean;
  readonly timing?: Partial<A2aTiming>;
} & Partial<A2aAgent>;

const message = (N: string, method: string, params: unknown): Input => ({ on: 'message', link: `stream ${N}`, method, params });
const update = (state: string, more: object, final = false) => ({
  kind: 'status-update',
  taskId: 'T',
  contextId: 'C',
  final,
  status: { state, ...more },
});
const said = (part: object) => ({ message: { kind: 'message', role: 'agent', parts: [part] } });

export const a2aCases: TranscriptProtocol<A2aState> = {
  name: 'a2a',
  folder: 'test/protocols/a2a/cases',
  machine: a2aMachine,
  link: 'agent',
  start: (given) => {
    const { peer, past = [], resume = '', starts = false, timing = {}, ...more } = given as Setup;
    const agent: A2aAgent = {
      peer: {
        ...{ name: 'Agent', endpoint: 'http://agent/', wire: '0.3', streaming: true, push: false, extension: URI, commandContext: false },
        ...{ dialect: 'rfc', remarks: [], schemes: {}, security: [] },
        ...peer,
      },
      ...{ commands: null, notices: [], push: false, harmless: [], folder: null },
      ...more,
    };
    const state = newA2a('i', { cwd: '/w', resumeKey: resume, starts, timing: { ...TIMING, ...timing } }, past);
    return { state, inputs: ['start', { on: 'reply', call: 'connect', result: agent }] };
  },
  inputs: {
    record: (N, value) => message(N, 'record', value),
    text: (N, value) => message(N, 'record', update('working', said({ kind: 'text', text: value }))),
    task: (N, value) => message(N, 'record', { kind: 'task', id: 'T', contextId: 'C', ...(value as object) }),
    state: (N, value) => message(N, 'record', update(String(value), {}, true)),
    call: (N, value) => message(N, 'record', update('working', said({ kind: 'data', data: value }))),
    gemini: (N, value) => message(N, 'record', update('working', said({ kind: 'data', data: value }))),
    file: (N, value) => message(N, 'file', value),
    sent: (_, N) => message(String(N), 'sent', true),
    sentBeside: (_, N) => message(String(N), 'sent', false),
    held: (N, value) => message(N, 'held', value),
    answered: (_, N) => message(String(N), 'answered', null),
    opened: (_, N) => message(String(N), 'opened', null),
    bodyOf: (N, value) => message(N, 'answer', value),
    ended: (_, N) => ({ on: 'closed', link: `stream ${String(N)}`, why: { reason: '' } }),
    broke: (N, value) => ({ on: 'closed', link: `stream ${N}`, why: { reason: String(value), failure: 'cut' } }),
    failed: (N, value) => ({ on: 'closed', link: `stream ${N}`, why: value as never }),
    refusedBy: (N, value) => {
      const { code, message: reason } = value as { readonly code: number; readonly message: string };
      return { on: 'closed', link: `stream ${N}`, why: { reason, failure: 'rpc', code } };
    },
  },
  describe: (effect) => describeA2a(effect),
};

function describeA2a(effect: Effect): string | null | undefined {
  if (effect.do === 'drop' || (effect.do === 'notify' && effect.method === 'freshen')) return null;
  if (effect.do === 'timer') return /^(tick|keep)$/.test(effect.timer) || effect.after === null ? null : undefined;
  if (effect.do === 'emit' && /^(turn\.adapterState|options\.set)$/.test(effect.event.type)) return null;
  if (effect.do !== 'open' || !/^stream/.test(effect.link)) return undefined;
  const { method, params } = effect.params as { readonly method?: string; readonly params?: { readonly message?: SentMessage } };
  const sent = params?.message;
  if (!sent) return undefined;
  const { parts, taskId, contextId, metadata, referenceTaskIds } = sent;
  const [{ text, data } = {}] = parts;
  const place = {
    ...(taskId ? { taskId } : {}),
    ...(contextId ? { contextId } : {}),
    ...(metadata ? { metadata: Object.values(metadata)[0] } : {}),
  };
  return `open ${effect.link}: ${method} ${JSON.stringify(text ?? data)} ${JSON.stringify({ ...place, ...(referenceTaskIds ? { referenceTaskIds } : {}) })}`;
}
interface SentMessage {
  readonly parts: readonly { readonly text?: string; readonly data?: unknown }[];
  readonly taskId?: string;
  readonly contextId?: string;
  readonly metadata?: object;
  readonly referenceTaskIds?: readonly string[];
}
