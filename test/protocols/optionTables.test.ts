import { test } from 'node:test';
import { approvalAsk } from '../../src/protocols/ai-sdk/codec.ts';
import { approvalOf } from '../../src/protocols/kimi-wire/codec.ts';
import { approvalAnswers } from '../../src/session/approvalAnswers.ts';
import type { Approval } from '../../src/session/model.ts';
import { checkRows, optionRow } from '../optionRows.ts';

// What protocols offer whose agents name no options of their own, as docs/approvals.md says it.
const cwd = '/project';

function check(agent: string, asks: Readonly<Record<string, Approval>>): void {
  const rows = Object.entries(asks).map(([what, ask]) => optionRow(agent, what, ask, approvalAnswers(ask, { cwd, feedback: true })));
  checkRows(agent, rows);
}

test('agents of kimi-wire', () => {
  const asked = (sender: string, action: string, description: string, display: Parameters<typeof approvalOf>[0]['display']) =>
    approvalOf({ id: 'a', tool_call_id: 'c', sender, action, description, display }, { turnId: 't' });
  const edit = { type: 'diff', path: 'src/main.ts', old_text: 'a', new_text: 'b' } as const;
  check('every agent (kimi-wire)', {
    'a command': asked('Shell', 'run command', 'Run command `touch one.txt`', [
      { type: 'shell', language: 'bash', command: 'touch one.txt' },
    ]),
    'an edit': asked('StrReplaceFile', 'edit file', 'Edit file `src/main.ts`', [edit]),
    'an MCP tool': asked('open_in_ide', 'mcp:open_in_ide', 'Call MCP tool `open_in_ide`.', []),
  });
});

test('servers of the AI SDK', () => {
  const asked = (name: string, input: object, isLocal: boolean, edit?: Parameters<typeof approvalAsk>[3]) => {
    const part = { type: `tool-${name}`, toolCallId: 'c', state: 'approval-requested', input, approval: { id: 'a' } } as const;
    return approvalAsk(part, { askId: 'a', turnId: 't', callId: 'c' }, isLocal, edit);
  };
  check('a server on this computer (AI SDK)', {
    'a command': asked('run_command', { command: 'touch one.txt' }, true),
    'an edit': asked('edit_file', { path: 'src/main.ts', find: 'a', replace: 'b' }, true, { path: 'src/main.ts', before: 'a', after: 'b' }),
    'a web page': asked('web_fetch', { url: 'http://127.0.0.1/' }, true),
    'another tool': asked('open_in_ide', {}, true),
  });
  check('a server elsewhere (AI SDK)', {
    'a command': asked('run_command', { command: 'touch one.txt' }, false),
    'another tool': asked('open_in_ide', {}, false),
  });
});
