import type { Input } from '../../../src/conversation/machine.ts';
import { readTalkOptions } from '../../../src/protocols/qwen/launch.ts';
import { qwenMachine } from '../../../src/protocols/qwen/machine.ts';
import { newQwenState, type QwenState } from '../../../src/protocols/qwen/state.ts';
import type { TranscriptProtocol } from '../../conversation/transcripts.ts';
import * as l from './lines.ts';

/*
 * What a case is given: `product` (qwen when left out), `dialect` (the handshake it begins with: message or envelope), `talk` (options of the
 * profile), `args`, `resume`, `tools`, `keeps`, `firstTurn`, `brokeOff`.
 *
 *   ready {…}          its reply to initialize          line {…}            any other line
 *   init {…}           system/init                      ask R {…}           a control request, `asked R {…}` with the whole line
 *   delta 0 "text"     a piece of text                  permission R CALL TOOL {…}
 *   event {…}          another stream event             replied SUBTYPE {…}  the reply to our newest request of that subtype
 *   assistant […]      whole blocks                     wait 5000           time goes by
 *   result {…}         the end of a turn                later NAME 5000     time goes by, then that timer fires
 *   printed "text"     a line that is no message
 *   result-of CALL "text", error-of CALL "text"
 */
let clock = 0;
/** Ids of our requests by subtype, the newest. */
const asked = new Map<string, string>();

const line = (params: unknown): Input => ({ on: 'message', link: 'agent', method: 'line', params });
const noise = /^(reply|silence|expire|heartbeat|names|settle|detection|handshake)\b/;

export const qwenCases: TranscriptProtocol<QwenState> = {
  name: 'qwen',
  folder: 'test/protocols/qwen/cases',
  link: 'agent',
  machine: (state, input) => {
    const effects = qwenMachine(state, input, clock);
    for (const effect of effects) {
      if (effect.do !== 'notify') continue;
      for (const sent of effect.params as readonly Record<string, unknown>[]) {
        if (sent.type === 'control_request') asked.set(String(Object(sent.request).subtype), String(sent.request_id));
      }
    }
    return effects;
  },
  start: ({ dialect, talk, product, firstTurn, brokeOff, ...setup }) => {
    clock = 0;
    asked.clear();
    const { options } = readTalkOptions(dialect === 'envelope' ? { dialect } : {}, []);
    const state = newQwenState('i', {
      command: 'agent',
      args: [],
      cwd: '/w',
      product: product === 'claude' ? 'claude' : 'qwen',
      called: product === 'claude' ? 'Claude Code' : 'Qwen Code',
      client: { name: 'test', version: '0' },
      options: { ...options, ...(talk as object) },
      problems: [],
      resume: null,
      tools: [],
      keeps: {},
      ...setup,
    });
    Object.assign(state, { firstTurn: firstTurn ?? null, brokeOff: brokeOff ?? false });
    const receipt = { object: 'chat.completion', choices: [], metadata: { protocol_version: 1, session_id: 'E' } };
    return { state, inputs: ['start', dialect === 'envelope' ? `line ${JSON.stringify(receipt)}` : 'ready {}'] };
  },
  inputs: {
    line: (_name, value) => line(value),
    ask: (id, request) => ({
      on: 'asked',
      link: 'agent',
      id,
      method: 'line',
      params: { type: 'control_request', request_id: id, request },
    }),
    asked: (id, params) => ({ on: 'asked', link: 'agent', id, method: 'line', params }),
    permission: (name, input) => {
      const [id = '', callId = '', tool = ''] = name.split(' ');
      return { on: 'asked', link: 'agent', id, method: 'line', params: l.permission(id, callId, tool, input as object) };
    },
    delta: (index, text) => line(l.text(Number(index), text as string)),
    event: (_name, event) => line(l.event(event as object)),
    printed: (_name, text) => ({ on: 'junk', link: 'agent', text: text as string }),
    // An input that means nothing here.
    wait: (_name, ms) => {
      clock += ms as number;
      return { on: 'withdrawn', link: 'agent', id: '' };
    },
    ready: (_name, payload) => line(l.ready('initialize', payload as object)),
    replied: (subtype, response) =>
      line({ type: 'control_response', response: { subtype: 'success', request_id: asked.get(subtype), response } }),
    assistant: (parent, content) => {
      const more = parent ? { parent_tool_use_id: parent, message: { id: `m-${parent}`, content } } : {};
      return line(l.assistant(content as readonly object[], more));
    },
    init: (_name, more) => line(l.init(more as object)),
    result: (_name, more) => line(l.result(more as object)),
    'result-of': (id, text) => line(l.toolResult(id, text as string)),
    'error-of': (id, text) => line(l.toolResult(id, text as string, true)),
    later: (name, ms) => {
      clock += ms as number;
      return { on: 'timer', timer: name };
    },
  },
  describe: (effect) => {
    if (effect.do === 'timer' && (effect.after === null || noise.test(effect.timer))) return null;
    if (effect.do === 'notify') return `write ${(effect.params as readonly object[]).map((one) => JSON.stringify(one)).join(' ')}`;
    if (effect.do !== 'emit') return undefined;
    const { event } = effect;
    if (event.type === 'commands.set') return `commands ${event.commands.map((command) => command.name).join(' ')}`;
    if (event.type === 'mode.set') return `mode ${event.mode?.current}`;
    return event.type === 'options.set' && event.options.length === 0 ? null : undefined;
  },
};
