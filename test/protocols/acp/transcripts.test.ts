import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { acpMachine } from '../../../src/protocols/acp/machine.ts';
import { QUIRKS } from '../../../src/protocols/acp/quirks.ts';
import type { AcpState } from '../../../src/protocols/acp/state.ts';
import { LIMITS, newAcp } from '../../../src/protocols/acp/state.ts';
import { type TranscriptProtocol, testNames, testTranscripts, transcriptTitles } from '../../conversation/transcripts.ts';
import { problemOfDraft, problemOfUnstable } from './oracle.ts';

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

const acpTranscripts: TranscriptProtocol<AcpState> = {
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

testTranscripts(acpTranscripts);
testNames(acpTranscripts, 'an edit is asked about when its file has been read; a stop before that answers it', '/code/a');

/** The updates of a file of cases as they stand there; `of` picks them by their kind. */
function updatesIn(file: string, of: RegExp): readonly { readonly sessionId: string; readonly update: unknown }[] {
  const lines = readFileSync(path.join(acpTranscripts.folder, file), 'utf8').matchAll(/^> update (\S+ )?(\{.*\})$/gm);
  return [...lines].flatMap(([, session = 'S ', json = '']) =>
    of.test(json) ? [{ sessionId: session.trim(), update: JSON.parse(json) as unknown }] : [],
  );
}

test('what is not stable yet is said in the cases as the official schema has it', () => {
  const updates = updatesIn('updates.txt', /"sessionUpdate":"(?:plan_|subagent_|session_message)/);
  assert.ok(updates.length >= 15, String(updates.length));
  for (const one of updates) assert.equal(problemOfUnstable('SessionNotification', one), undefined, JSON.stringify(one));
});

test('patches of version 2 and its record are said in the cases as the draft has them', () => {
  const updates = updatesIn('version2.txt', /"git_patch"|"(?:user|agent)_message"|"messageId":"[ua]\d"/);
  assert.ok(updates.length >= 7, String(updates.length));
  for (const one of updates) assert.equal(problemOfDraft('UpdateSessionNotification', one), undefined, JSON.stringify(one));
});

test('every case has a title of its own', () => {
  const titles = transcriptTitles(acpTranscripts.folder);
  assert.deepEqual(
    titles.filter((title, at) => titles.indexOf(title) !== at),
    [],
  );
});

test('every quirk names its transcript', () => {
  const titles = transcriptTitles(acpTranscripts.folder);
  for (const { transcript } of QUIRKS) assert.ok(titles.includes(transcript), transcript);
});
