import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConversationState } from '../../src/conversation/state.ts';
import { QUIRKS as A2A_QUIRKS } from '../../src/protocols/a2a/quirks.ts';
import { QUIRKS as ACP_QUIRKS } from '../../src/protocols/acp/quirks.ts';
import { QUIRKS as AI_SDK_QUIRKS } from '../../src/protocols/ai-sdk/quirks.ts';
import { QUIRKS as WIRE_QUIRKS } from '../../src/protocols/kimi-wire/quirks.ts';
import { QUIRKS as QWEN_QUIRKS } from '../../src/protocols/qwen/quirks.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { assertTitles, type Quirk, type TranscriptProtocol, testNames, testTranscripts } from '../conversation/transcripts.ts';
import { a2aCases } from './a2a/cases.ts';
import { acpCases } from './acp/cases.ts';
import { ahpCases } from './ahp/cases.ts';
import { aiSdkCases } from './ai-sdk/cases.ts';
import { wireCases } from './kimi-wire/cases.ts';
import { qwenCases } from './qwen/cases.ts';

/* The transcripts of all protocols in one process: most of their time would be spent on starting one for each. */

const tested = new Set<string>();
/** Runs the transcripts of a protocol, whose quirks each name one of them. */
function testProtocol<S extends ConversationState>(cases: TranscriptProtocol<S>, quirks: readonly Quirk[] = []): void {
  tested.add(cases.name);
  testTranscripts(cases);
  test(`${cases.name}: each transcript has a title of its own, and each quirk has a transcript`, () => assertTitles(cases, quirks));
}

testProtocol(wireCases, WIRE_QUIRKS);
testProtocol(acpCases, ACP_QUIRKS);
testProtocol(a2aCases, Object.values(A2A_QUIRKS));
testProtocol(qwenCases, QWEN_QUIRKS);
testProtocol(aiSdkCases, AI_SDK_QUIRKS);
testProtocol(ahpCases);

test('every protocol has transcripts', () => {
  assert.deepEqual([...tested].sort(), Object.keys(protocols).sort());
});

testNames(wireCases, 'what an approval is about: edits by hunk, MCP tools, a command known only from its call, plain words', '/a');
testNames(acpCases, 'an edit is asked about when its file has been read; a stop before that answers it', '/code/a');
testNames(a2aCases, 'the earlier generation cannot be told of changes: they are written once the call is done', '/w/a');
testNames(qwenCases, 'allow: the diff is made here from the input and the file, the answer has the exact verb inside', '/w/a.txt');
testNames(aiSdkCases, 'allow: the answer is posted in the part, and the output belongs to the earlier step', 'c.txt', false);
testNames(ahpCases, 'an edit is asked about when both sides of it were read; what comes meanwhile waits behind it', '/w/a');
