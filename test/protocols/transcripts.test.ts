import { test } from 'node:test';
import { QUIRKS as A2A_QUIRKS } from '../../src/protocols/a2a/quirks.ts';
import { QUIRKS as ACP_QUIRKS } from '../../src/protocols/acp/quirks.ts';
import { QUIRKS as AI_SDK_QUIRKS } from '../../src/protocols/ai-sdk/quirks.ts';
import { QUIRKS as WIRE_QUIRKS } from '../../src/protocols/kimi-wire/quirks.ts';
import { QUIRKS as QWEN_QUIRKS } from '../../src/protocols/qwen/quirks.ts';
import { assertTitles, testNames, testTranscripts } from '../conversation/transcripts.ts';
import { a2aCases } from './a2a/cases.ts';
import { acpCases } from './acp/cases.ts';
import { ahpCases } from './ahp/cases.ts';
import { aiSdkCases } from './ai-sdk/cases.ts';
import { wireCases } from './kimi-wire/cases.ts';
import { qwenCases } from './qwen/cases.ts';

/* The transcripts of all protocols in one process: most of their time would be spent on starting one for each. */

testTranscripts(wireCases);
testTranscripts(acpCases);
testTranscripts(a2aCases);
testTranscripts(qwenCases);
testTranscripts(aiSdkCases);
testTranscripts(ahpCases);

test('each transcript of a protocol has a title of its own, and each quirk has a transcript', () => {
  assertTitles(wireCases, WIRE_QUIRKS);
  assertTitles(acpCases, ACP_QUIRKS);
  assertTitles(a2aCases, Object.values(A2A_QUIRKS));
  assertTitles(qwenCases, QWEN_QUIRKS);
  assertTitles(aiSdkCases, AI_SDK_QUIRKS);
  assertTitles(ahpCases);
});

testNames(wireCases, 'what an approval is about: edits by hunk, MCP tools, a command known only from its call, plain words', '/a');
testNames(acpCases, 'an edit is asked about when its file has been read; a stop before that answers it', '/code/a');
testNames(a2aCases, 'the earlier generation cannot be told of changes: they are written once the call is done', '/w/a');
testNames(qwenCases, 'allow: the diff is made here from the input and the file, the answer has the exact verb inside', '/w/a.txt');
testNames(aiSdkCases, 'allow: the answer is posted in the part, and the output belongs to the earlier step', 'c.txt', false);
testNames(ahpCases, 'an edit is asked about when both sides of it were read; what comes meanwhile waits behind it', '/w/a');
