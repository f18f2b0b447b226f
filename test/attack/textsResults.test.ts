import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandLine } from '../../src/agent/tools/shell.ts';
import { messageIn } from '../../src/editor/commitMessage.ts';
import { cmdArgument } from '../../src/protocols/acp/ports.ts';
import { namesAnother } from '../../src/protocols/commandInput.ts';
import { entryIn, resultEvents } from '../../src/protocols/qwen/messageCodec.ts';
import { answersIn } from '../../src/session/approvalAnswers.ts';
import { callWords } from '../../src/session/callWords.ts';
import { commandDangers } from '../../src/session/commandDangers.ts';
import { codeIsGrave } from '../../src/session/dangerousPrograms.ts';
import type { Approval, ToolCall } from '../../src/session/model.ts';
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
  'commit message': messageIn,
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

const call = (name: string): ToolCall => ({
  id: 'c',
  name,
  title: name,
  kind: 'other',
  status: 'done',
  inputText: '',
  output: [],
  locations: [],
});
/** What an agent wants to run, and how it calls its tools. */
const proposals: Readonly<Record<string, (text: string) => unknown>> = {
  'dangers of sed': (text) => commandDangers(`sed 's1${text}' a`, '/w'),
  'dangers of sed with an end': (text) => commandDangers(`sed '${text};s/a' a`, '/w'),
  'dangers of awk': (text) => commandDangers(`awk '${text}' a`, '/w'),
  'dangers of a script': (text) => commandDangers(`python -c '${text}' "${text}"`, '/w'),
  'dangers of a program': (text) => commandDangers(`${text} a`, '/w'),
  'dangers of an argument': (text) => commandDangers(`git ${text} a`, '/w'),
  'name of a tool': (text) => callWords(call(text), { cwd: '/w', terminals: [] }),
  'argument for cmd': cmdArgument,
};

test('what an agent proposes is judged in time proportional to it', () => {
  for (const [name, read] of Object.entries(proposals)) {
    for (const piece of [
      '1',
      '11',
      ';s1',
      's111',
      'e ',
      'print',
      'print ',
      '|',
      '| ',
      'system ',
      'mcp__',
      '_',
      'a-',
      '\\',
      '$(',
      '`',
      '"a" ',
      '../',
      '{',
      '=',
    ]) {
      assertLinear(`${name} of ${JSON.stringify(piece)}`, 3000, (size) => {
        const text = piece.repeat(size / piece.length);
        return () => read(text);
      });
    }
  }
});

test('the code of an interpreter is judged in time proportional to it, also where it opens files without end', () => {
  for (const piece of ['open(a,', 'open(', 'open (,', ", '", "open('a', "])
    assertLinear(`code of ${JSON.stringify(piece)}`, 12_000, (size) => {
      const text = piece.repeat(size / piece.length);
      return () => codeIsGrave(text);
    });
  for (const code of ["open('a', 'w')", "open(join('a', 'b'), 'w')", 'open("a",mode="rb+")', "open(p, 'a').write(x)"])
    assert.ok(codeIsGrave(code), code);
  for (const code of ["open('a')", "open('a', 'r').read()", "print(open('a', 'rb').read())"]) assert.ok(!codeIsGrave(code), code);
});

test('what is for the model alone is still left out of a result', () => {
  const textOf = (text: string, isError = false) => JSON.stringify(result(text, isError));
  assert.ok(!textOf('a<system-reminder>secret</system-reminder>b').includes('secret'));
  assert.ok(textOf('a<system-reminder>shown').includes('shown'), 'what does not end is a text');
  assert.ok(!textOf('ok  (file state is current in your context — x)').includes('file state'));
  assert.ok(!textOf("no. The user doesn't want to proceed with this tool use. STOP", true).includes('STOP'));
  assert.ok(textOf("The user doesn't want to proceed with this tool use. the user said: because", true).includes('because'));
});

test('a commit message shows all that will be committed', () => {
  const hidden = ['\u202e', '\u200b', '\u0000', '\u001b[2K', '\u009b', '\u2028', '\r', '\u{e0041}', '\ufeff'];
  for (const one of hidden) assert.equal(messageIn(`Fix${one} it`), `Fix${one.startsWith('\u001b') ? '[2K' : ''} it`, JSON.stringify(one));
  const below = messageIn(`Fix it${'\n \t\n'.repeat(200)}Approved-by: somebody else`);
  assert.ok(below.split('\n').length <= 3, JSON.stringify(below));
  assert.ok(messageIn('x'.repeat(1_000_000)).length <= 5000);
  assert.equal(messageIn('```text\r\nFix it\r\n\r\nBecause.\r\n```\r\n'), 'Fix it\n\nBecause.');
  assert.equal(messageIn(' Fix `it` \n\n- a\n- b'), 'Fix `it` \n\n- a\n- b');
});
