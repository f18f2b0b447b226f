import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Quirk } from '../../src/conversation/quirk.ts';
import type { ConversationState } from '../../src/conversation/state.ts';
import { QUIRKS as A2A_QUIRKS } from '../../src/protocols/a2a/quirks.ts';
import { QUIRKS as ACP_QUIRKS } from '../../src/protocols/acp/quirks.ts';
import { QUIRKS as AI_SDK_QUIRKS } from '../../src/protocols/ai-sdk/quirks.ts';
import { QUIRKS as WIRE_QUIRKS } from '../../src/protocols/kimi-wire/quirks.ts';
import { QUIRKS as QWEN_QUIRKS } from '../../src/protocols/qwen/quirks.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { assertTitles, type TranscriptProtocol, testTranscripts } from '../conversation/transcripts.ts';
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
testProtocol(a2aCases, A2A_QUIRKS);
testProtocol(qwenCases, QWEN_QUIRKS);
testProtocol(aiSdkCases, AI_SDK_QUIRKS);
testProtocol(ahpCases);

test('every protocol has transcripts', () => {
  assert.deepEqual([...tested].sort(), Object.keys(protocols).sort());
});
