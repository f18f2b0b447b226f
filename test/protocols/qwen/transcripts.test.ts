import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Input } from '../../../src/conversation/machine.ts';
import { readTalkOptions } from '../../../src/protocols/qwen/launch.ts';
import { qwen } from '../../../src/protocols/qwen/machine.ts';
import { newQwenState, type QwenState } from '../../../src/protocols/qwen/state.ts';
import { testTranscripts, transcriptTitles } from '../../conversation/transcripts.ts';
import * as l from './lines.ts';

/*
 * What a case is given: product, options, resume, tools, keeps; `dialect` chooses the handshake it begins with (message when left out).
 *
 *   line {…}              a line of the agent          ask R {…}               a control request of the agent
 *   ready {…}             its reply to initialize      later 15000 NAME        time goes by, then the timer fires
 *   assistant [PARENT] […]  whole blocks               replied SUBTYPE {…}     the reply to our newest request of that subtype
 *   result {…}            the end of a turn            result-of CALL "text" / error-of CALL "text"
 */
let clock = 0;
/** Ids of our requests by subtype, the newest. */
const asked = new Map<string, string>();

const line = (params: unknown): Input => ({ on: 'message', link: 'agent', method: 'line', params });
const noise = /^(reply|silence|expire|heartbeat|names|settle|detection|handshake)\b/;

testTranscripts<QwenState>({
  folder: 'test/protocols/qwen/cases',
  link: 'agent',
  machine: (state, input) => {
    const effects = qwen(state, input, clock);
    for (const effect of effects) {
      if (effect.do !== 'notify') continue;
      for (const sent of effect.params as readonly Record<string, unknown>[]) {
        if (sent.type === 'control_request') asked.set(String(Object(sent.request).subtype), String(sent.request_id));
      }
    }
    return effects;
  },
  start: ({ dialect, options, product, ...setup }) => {
    clock = 0;
    asked.clear();
    const { options: talk } = readTalkOptions({ ...(dialect === 'envelope' ? { dialect } : {}), ...(options as object) }, []);
    const state = newQwenState('i', {
      command: 'agent',
      args: [],
      cwd: '/w',
      product: product === 'claude' ? 'claude' : 'qwen',
      called: product === 'claude' ? 'Claude Code' : 'Qwen Code',
      client: { name: 'test', version: '0' },
      options: talk,
      problems: [],
      resume: null,
      tools: [],
      keeps: {},
      ...setup,
    });
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
    if (effect.do === 'emit' && (effect.event.type === 'usage.set' || effect.event.type === 'commands.set')) return null;
    return undefined;
  },
});

test('every case has a title of its own', () => {
  const titles = transcriptTitles('test/protocols/qwen/cases');
  assert.deepEqual(
    titles.filter((title, at) => titles.indexOf(title) !== at),
    [],
  );
});
