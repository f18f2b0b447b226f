import { test } from 'node:test';
import type { ConversationState } from '../../src/conversation/state.ts';
import { assertNames, type TranscriptProtocol } from '../conversation/transcripts.ts';
import { a2aCases } from './a2a/cases.ts';
import { acpCases } from './acp/cases.ts';
import { ahpCases } from './ahp/cases.ts';
import { aiSdkCases } from './ai-sdk/cases.ts';
import { wireCases } from './kimi-wire/cases.ts';
import { qwenCases } from './qwen/cases.ts';

/* A transcript of each protocol that asks about an edit, again and again with names of files that mislead. */

function testNames<S extends ConversationState>(protocol: TranscriptProtocol<S>, title: string, file: string, byRule = true): void {
  test(`${protocol.name}: no rule of any kind answers for a file by a name that misleads`, () =>
    assertNames(protocol, title, file, byRule));
}

testNames(wireCases, 'what an approval is about: edits by hunk, MCP tools, a command known only from its call, plain words', '/a');
testNames(acpCases, 'an edit is asked about when its file has been read; a stop before that answers it', '/code/a');
testNames(a2aCases, 'the earlier generation cannot be told of changes: they are written once the call is done', '/w/a');
testNames(qwenCases, 'allow: the diff is made here from the input and the file, the answer has the exact verb inside', '/w/a.txt');
testNames(aiSdkCases, 'allow: the answer is posted in the part, and the output belongs to the earlier step', 'c.txt', false);
testNames(ahpCases, 'an edit is asked about when both sides of it were read; what comes meanwhile waits behind it', '/w/a');
