import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandLine } from '../../src/agent/tools/shell.ts';
import { namesAnother } from '../../src/protocols/commandInput.ts';
import { entryIn, resultEvents } from '../../src/protocols/qwen/messageCodec.ts';
import { answersIn } from '../../src/session/approvalAnswers.ts';
import type { Approval } from '../../src/session/model.ts';
import { newSession } from '../../src/session/reduce.ts';
import { assertLinear } from './linear.ts';

/** What a command prints, or a file holds, reaches us as the result of a call: anybody may have written it. */

const PARENT = 'agent';
const result = (text: string, isError: boolean, parent?: string) => {
  const block = { type: 'tool_result', tool_use_id: 'c', content: text, is_error: isError } as const;
  const line = {
    type: 'user',
    message: { content: [block] },
    ...(parent === undefined ? {} : { tool_use_result: { status: 'completed', agentId: parent } }),
  };
  return resultEvents(
    block as never,
    line as never,
    't',
    { use: { work: 'agent', input: {} }, before: undefined, refused: false, stopping: false } as never,
    '/w',
  );
};
const session = newSession('s', { protocol: 'p', name: 'P' }, '/w');
const approval = (label: string): Approval => ({
  kind: 'approval',
  id: 'a',
  title: label,
  detail: { type: 'text', text: label },
  options: [{ id: 'y', label, effect: 'allow_always', description: 'for this session' }],
});

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'result for people': (text) => result(text, false),
  'result of a sub-agent': (text) => result(text, false, PARENT),
  'failure for people': (text) => result(text, true),
  'failure of a call that was not made': (text) => result(`[Operation Cancelled] ${text}`, true),
  'recorded prompt': (text) => entryIn(JSON.stringify({ type: 'user', message: { role: 'user', content: text } })),
  'command in one line': commandLine,
  'title of a command': (text) => namesAnother(text, 'ls'),
  'answers of an approval': (text) => answersIn(session, approval(text)),
};

const pieces = [
  ' ',
  '\n',
  'a',
  'a ',
  "don't ",
  'do not retry',
  '<system-reminder>',
  '</system-reminder>',
  ' (file state is current in your context',
  '<tools-used-before-summary>',
  '<usage>subagent_tokens:',
  'agentId: ',
  '[Subagent hand-back]',
  "The user doesn't want to proceed with this tool use.",
  '<command-name>',
  '<command-args>',
  'Reason: ',
  '`',
  '\n```',
  ' for this',
];

test('the result of a call is made readable in time proportional to it', () => {
  for (const [name, read] of Object.entries(readers)) {
    for (const piece of pieces) {
      for (const end of ['', 'x', 'the user said:']) {
        assertLinear(`${name} of ${JSON.stringify(piece)}${end}`, 8000, (size) => {
          const text = `${piece.repeat(size / piece.length)}${end}`;
          return () => read(text);
        });
      }
    }
  }
});

test('what is for the model alone is still left out of a result', () => {
  const textOf = (text: string, isError = false) => JSON.stringify(result(text, isError));
  assert.ok(!textOf('a<system-reminder>secret</system-reminder>b').includes('secret'));
  assert.ok(textOf('a<system-reminder>shown').includes('shown'), 'what does not end is a text');
  assert.ok(!textOf('ok  (file state is current in your context — x)').includes('file state'));
  assert.ok(!textOf("no. The user doesn't want to proceed with this tool use. STOP", true).includes('STOP'));
  assert.ok(textOf("The user doesn't want to proceed with this tool use. the user said: because", true).includes('because'));
});
