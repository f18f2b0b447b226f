import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApprovalRequest, Frontend } from '../../src/agent/frontend.ts';
import { Permissions } from '../../src/agent/permissions.ts';

test('an answer for the session covers the same command again and no other, or all where the protocol means that', async () => {
  for (const [forSession, asked] of [
    [true, ['echo one', 'sudo ls']],
    ['action', ['echo one']],
  ] as const) {
    const questions: string[] = [];
    const permissions = new Permissions();
    const frontend = {
      approve: async ({ description }: ApprovalRequest) => {
        questions.push(description);
        return { allow: true, forSession };
      },
    } as unknown as Frontend;
    for (const command of ['echo one', 'echo one', 'sudo ls']) {
      const request = {
        callId: 'c',
        tool: 'Shell',
        action: 'run command',
        description: command,
        shown: [{ type: 'command', command }],
      } as const;
      await permissions.ask(frontend, request, new AbortController().signal);
    }
    assert.deepEqual(questions, asked);
  }
});
