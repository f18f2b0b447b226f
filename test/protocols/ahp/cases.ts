import type { Input } from '../../../src/conversation/machine.ts';
import { type AhpSetup, type AhpState, newAhp } from '../../../src/protocols/ahp/clientState.ts';
import { ahpMachine } from '../../../src/protocols/ahp/machine.ts';
import type { TranscriptProtocol } from '../../conversation/transcripts.ts';

const SESSION = 'gpt:/n';
export const CHAT = 'ahp-chat:/n';
export const LIMITS: AhpSetup['limits'] = {
  silence: 30_000,
  contents: 5_000,
  reconnect: [300, 1_000],
  offerRestart: 10_000,
  restart: 30_000,
};
const AGENT = { provider: 'gpt', displayName: 'GPT', models: [{ id: 'default', provider: 'gpt', name: 'Default' }] };
const reply = (call: string, result: unknown): Input => ({ on: 'reply', call, result });
const snapshot = (resource: string, state: unknown, fromSeq = 0) => ({ snapshot: { resource, state, fromSeq } });

/** A session that was opened and has said nothing yet. `setup` may also give what the host holds: `agent`, `session`, `chat`. */
function start(setup: Readonly<Record<string, unknown>>): { readonly state: AhpState; readonly inputs: readonly (string | Input)[] } {
  const { agent = {}, session = {}, chat = {}, ...rest } = setup as Readonly<Record<string, object>>;
  const given: AhpSetup = {
    provider: 'gpt',
    folder: 'file:///w',
    resume: null,
    shown: [],
    newId: 'n',
    clientId: 'me',
    client: { name: 'Parley', version: '1' },
    window: 'w',
    tools: [],
    limits: LIMITS,
    ...rest,
  };
  const root = { agents: [{ ...AGENT, ...agent }] };
  const facts = { provider: 'gpt', title: '', lifecycle: 'ready', defaultChat: CHAT, chats: [], ...session };
  const held = { resource: CHAT, title: '', status: 1, modifiedAt: '', origin: { kind: 'user' }, turns: [], ...chat };
  return {
    state: newAhp('i', given),
    inputs: [
      'start',
      reply('initialize', { protocolVersion: '1.0.0', serverSeq: 0, snapshots: [{ resource: 'ahp-root:/', state: root, fromSeq: 0 }] }),
      ...(given.resume ? [] : [reply(`create ${SESSION}`, null)]),
      reply(given.resume ? 'resume' : 'session', snapshot(SESSION, facts)),
      reply('chat', snapshot(CHAT, held)),
      reply('commands', { items: [] }),
    ],
  };
}

let seq = 0;
export const ahpCases: TranscriptProtocol<AhpState> = {
  name: 'ahp',
  folder: 'test/protocols/ahp/cases',
  machine: ahpMachine,
  start: (setup) => {
    seq = 0;
    return start(setup);
  },
  link: 'host',
  inputs: {
    /** `chat TYPE {…}`: an action on the chat; `mine` and `refusal` stand beside its fields. */
    chat: (type, value) => action(CHAT, `chat/${type}`, value),
    session: (type, value) => action(SESSION, `session/${type}`, value),
    terminal: (type, value) => action('ahp-terminal:/n/a', `terminal/${type}`, value),
  },
  describe: (effect) => {
    if (effect.do !== 'notify' || effect.method !== 'dispatchAction') return undefined;
    const {
      channel,
      clientSeq,
      action: sent,
    } = effect.params as {
      readonly channel: string;
      readonly clientSeq: number;
      readonly action: { readonly type: string };
    };
    const { type, ...fields } = sent;
    return `dispatch ${clientSeq} ${channel === CHAT ? '' : `${channel} `}${type} ${JSON.stringify(fields)}`;
  },
};

/** An action of the host on a channel, the next in its order. */
export function action(channel: string, type: string, value: unknown): Input {
  const { mine, refusal, ...fields } = value as Readonly<Record<string, unknown>>;
  seq += 1;
  const params = {
    channel,
    action: { type, ...fields },
    serverSeq: seq,
    ...(mine === undefined ? {} : { origin: { clientId: 'me', clientSeq: mine } }),
    ...(refusal === undefined ? {} : { rejectionReason: refusal }),
  };
  return { on: 'message', link: 'host', method: 'action', params };
}
