import { acpMachine } from '../../../src/protocols/acp/machine.ts';
import type { AcpState } from '../../../src/protocols/acp/state.ts';
import { LIMITS, newAcp } from '../../../src/protocols/acp/state.ts';
import type { TranscriptProtocol } from '../../conversation/transcripts.ts';

/*
 * ACP's own words in transcripts: `update [SESSION] {…}` is a session/update; `permit ID {toolCall, options?}` a session/request_permission with
 * the options y and n when none are given; `fs ID read|write {…}` and `terminal ID create|output|… {…}` are the editor's requests. The session is
 * S. A case's setup may hold `hello` (members of the answer to initialize), `session` (of the answer that opens it), `resume`, `newest`, `tools`, `folders`,
 * `can` and `startedAt`.
 */
const options = [
  { optionId: 'y', name: 'Yes', kind: 'allow_once' },
  { optionId: 'n', name: 'No', kind: 'reject_once' },
];
const QUIET: ReadonlySet<string> = new Set(['silence', 'session', 'initialize', 'quiet', 'loadDelay', 'close']);

export const acpCases: TranscriptProtocol<AcpState> = {
  name: 'acp',
  folder: 'test/protocols/acp/cases',
  machine: acpMachine,
  link: 'agent',
  start: ({ hello = {}, session = {}, resume = null, newest = 1, tools = [], folders = [], can, startedAt = null }) => ({
    state: newAcp('i', {
      cwd: '/code',
      folders: folders as readonly string[],
      client: { name: 'client', version: '1' },
      newest: newest as 1 | 2,
      resume: resume as AcpState['setup']['resume'],
      startedAt: startedAt as number | null,
      can: (can as AcpState['setup']['can'] | undefined) ?? { links: true, logins: true },
      tools: tools as readonly string[],
      limits: LIMITS,
    }),
    inputs: [
      'start',
      `reply initialize ${String(newest)} ${JSON.stringify({ protocolVersion: newest, agentInfo: { name: 'F', version: '1' }, ...(hello as object) })}`,
      `reply session ${JSON.stringify({ sessionId: 'S', ...(session as object) })}`,
    ],
  }),
  inputs: {
    update: (name, update) => ({ on: 'message', link: 'agent', method: 'session/update', params: { sessionId: name || 'S', update } }),
    permit: (id, params) => ({
      on: 'asked',
      link: 'agent',
      id,
      method: 'session/request_permission',
      params: { sessionId: 'S', options, ...(params as object) },
    }),
    fs: (name, params) => request('fs', name, params, '_text_file'),
    terminal: (name, params) => request('terminal', name, params, ''),
    reply: (name, result) => ({ on: 'reply', call: name.replace(/^initialize$/, 'initialize 1'), result }),
  },
  describe: (effect) => {
    if (effect.do === 'timer' && (effect.after === null || QUIET.has(effect.timer) || effect.timer.startsWith('show '))) return null;
    if (effect.do === 'emit' && effect.event.type === 'mode.set' && effect.event.mode === null) return null;
    if (effect.do === 'emit' && effect.event.type === 'options.set' && effect.event.options.length === 0) return null;
    return undefined;
  },
};
function request(kind: string, name: string, params: unknown, end: string) {
  const [id = '', verb = ''] = name.split(' ');
  return { on: 'asked', link: 'agent', id, method: `${kind}/${verb}${end}`, params: { sessionId: 'S', ...(params as object) } } as const;
}
