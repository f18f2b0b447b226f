import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TerminalFilter } from '../../src/base/terminalText.ts';
import { questionRows, withoutMarks } from '../../src/editor/approvals/questionText.ts';
import { commandRows, plainLabel, plainMarkdown } from '../../src/editor/approvals/rowText.ts';
import { traceLine, withoutSecrets } from '../../src/editor/redact.ts';
import { effectsOf, readGeminiCall, readRfcCall, screenText } from '../../src/protocols/a2a/calls.ts';
import { excerptSides } from '../../src/session/diffs.ts';
import { hunksOf } from '../../src/session/hunks.ts';
import { inMannerOf, plain } from '../../src/session/lineEnds.ts';
import { mergedInto, smallestChange } from '../../src/session/merge.ts';
import { compareTexts } from '../../src/session/segments.ts';
import { changeAmount } from '../../src/session/shownApproval.ts';
import { HIDDEN, shortened, visibleText } from '../../src/session/visible.ts';
import { Lines } from '../../src/transport/lines.ts';
import { SseReader } from '../../src/transport/sse.ts';
import { absolute, pathInCode, targetOf } from '../../webview/links.ts';
import { onlyColours, plainOutput, printedLines } from '../../webview/terminalOutput.ts';
import { assertLinear } from './linear.ts';
import { triesIn } from './work.ts';

/** The room of what is shown: texts that hide something, do something, or take for ever to read. */

const diff = (after: string) => ({ path: 'a', before: '', after });
/** Every function that is handed an agent's text as it comes. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'terminal filter': (text) => new TerminalFilter().push(text),
  'plain output': plainOutput,
  'only colours': onlyColours,
  'printed lines': printedLines,
  'command rows': (text) => commandRows(text),
  label: plainLabel,
  'plain markdown': plainMarkdown,
  'question rows': (text) => questionRows({ label: text, body: text }),
  'without marks': withoutMarks,
  'amount of a change': (text) => changeAmount([diff(text)]),
  hunks: (text) => hunksOf(diff(text)),
  excerpt: (text) => excerptSides([diff(text)]),
  merge: (text) => mergedInto(text, '', text),
  'smallest change': (text) => smallestChange(text, `${text}x`),
  'plain line ends': plain,
  'in the manner of': (text) => inMannerOf(text, text),
  'visible text': visibleText,
  shortened: (text) => shortened(text, 100),
  'protocol log': (text) => traceLine({ text }),
  'without secrets': withoutSecrets,
  'link target': targetOf,
  'path in code': pathInCode,
  'absolute path': (text) => absolute(text, '/w'),
  'screen of an A2A command': screenText,
  'option of an A2A agent': (text) => effectsOf([{ id: text, name: text }]),
  'call of an A2A agent': (text) =>
    readRfcCall({
      tool_call_id: 'k',
      tool_name: text,
      description: text,
      live_content: text,
      confirmation_request: { execute_details: { command: text, more: text }, options: [{ id: 'y', name: text }] },
    }),
  'call of Gemini CLI': (text) =>
    readGeminiCall({
      request: { callId: 'k', name: text, args: { command: text } },
      status: 'success',
      response: { resultDisplay: text, responseParts: [{ functionResponse: { response: { output: text } } }] },
    }),
};
const pieces = [
  '\u001b]',
  '\u001b[',
  '\u001b[1',
  '\u009d',
  '\n',
  '\r',
  '\r\n',
  '\b',
  'a\b',
  ' ',
  '\t',
  '`',
  '`a',
  '[',
  '![',
  '[a](',
  '**a',
  '__',
  '~~a__',
  '<a:',
  '#',
  'Bearer ',
  '--token ',
  'token=',
  'https://a',
  '?code=',
  'eyJaaaaaaaa.',
  '-----BEGIN PRIVATE KEY-----',
  'sk-',
  'a',
  'a:1',
  '\u200d',
  '❤\ufe0f',
  '\u0000',
  '/..',
  '%41',
  '\ud800',
];

test('every function that reads an agent takes time in proportion to the text', () => {
  for (const [name, read] of Object.entries(readers)) {
    for (const piece of pieces) {
      for (const [before, after] of [
        ['', ''],
        ['x', 'x'],
      ]) {
        assertLinear(`${name} of ${JSON.stringify(piece)}`, 6000, (size) => {
          const text = `${before}${piece.repeat(size / piece.length)}${after}`;
          return () => read(text);
        });
      }
    }
  }
});

test('a line or an event that comes in small pieces takes time in proportion', () => {
  const readings: Readonly<Record<string, () => { push(chunk: Uint8Array): void }>> = {
    'a line in pieces': () => new Lines(() => {}),
    'an event in pieces': () => new SseReader(() => {}),
  };
  for (const [name, open] of Object.entries(readings)) {
    const piece = Buffer.from('data: x ');
    assertLinear(name, 6000, (count) => () => {
      const reader = open();
      for (let at = 0; at < count; at += 1) reader.push(piece);
    });
  }
});

test('an edit in which no line stays takes time in proportion', () => {
  const readings: Readonly<Record<string, (before: string, after: string) => unknown>> = {
    hunks: (before, after) => hunksOf({ path: 'a', before, after }),
    amount: (before, after) => changeAmount([{ path: 'a', before, after }]),
    excerpt: (before, after) => excerptSides([{ path: 'a', before, after }]),
    merge: (before, after) => mergedInto(before, after, after),
    segments: compareTexts,
  };
  const lines = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word}${(at * 7919) % count}`).join('\n');
  for (const [name, read] of Object.entries(readings)) {
    assertLinear(`${name} of other lines`, 5000, (size) => {
      const [before, after] = [lines(size, 'a'), lines(size, 'b')];
      return () => read(before, after);
    });
  }
});

test('an edit of so many lines that nobody reads them is not compared line by line', () => {
  const lines = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word}${at}`).join('\n');
  const large = hunksOf({ path: 'a', before: lines(14_000, 'a'), after: lines(14_000, 'b') });
  assert.deepEqual([large.tooLong, large.hunks.length], [true, 0]);
  assert.equal(hunksOf({ path: 'a', before: null, after: '\n'.repeat(390_000) }).tooLong, true);
  const { tooLong, added, removed } = hunksOf({ path: 'a', before: lines(14_000, 'a'), after: `${lines(14_000, 'a')}\nx` });
  assert.deepEqual([tooLong, added, removed], [undefined, 2, 1], 'a small change of a long file is shown');
});

test('nothing reaches the terminal panel but text, colours and the erasing of a line', () => {
  const filtered = (...chunks: string[]) => {
    const filter = new TerminalFilter();
    return chunks.map((chunk) => filter.push(chunk)).join('');
  };
  const cases: readonly (readonly [string, string])[] = [
    ['a\u001b]52;c;cm0gLXJm\u0007b', 'ab'],
    ['a\u001b]0;title\u001b\\b', 'ab'],
    ['a\u001b]8;;https://evil\u001b\\text\u001b]8;;\u001b\\b', 'atextb'],
    ['\u009d52;c;x\u009cb', 'b'],
    ['\u001bPq#0\u001b\\b', 'b'],
    ['\u001b[6n\u001b[c\u001b[?1049h\u001b[?1000hb', 'b'],
    ['\u001b[2Jb\u001b[1A\u001b[10Hc\u001b[8mhidden\u001b[0;8mx', 'bchiddenx'],
    // What xterm.js takes for hidden: a part behind a colon, and a number behind one that is no colour yet.
    ['\u001b[8:1ma\u001b[38:5;8mb\u001b[138;5;8mc\u001b[38;5:1;8md\u001b[38:2:1;8me', 'abcde'],
    ['\u001b[38:5:8ma\u001b[48;2;1;2;8mb\u001b[4:3m', '\u001b[38:5:8ma\u001b[48;2;1;2;8mb\u001b[4:3m'],
    ['\u001b[38;5;8mgrey\u001b[0m', '\u001b[38;5;8mgrey\u001b[0m'],
    ['\u001b[31;1mred\u001b[0m\r\u001b[K\t\b\n', '\u001b[31;1mred\u001b[0m\r\u001b[K\t\b\n'],
    ['\u001bc\u001b7\u001b(0b', 'b'],
    ['\u0007\u0005\u000eb', 'b'],
    ['\u001b[31\u0018mb', 'mb'],
    ['grün 文 😀', 'grün 文 😀'],
  ];
  for (const [output, shown] of cases) {
    assert.equal(filtered(output), shown, JSON.stringify(output));
    assert.equal(filtered(...output), shown, `one unit after the other: ${JSON.stringify(output)}`);
  }
  assert.ok(filtered(`\u001b[${'1'.repeat(100_000)}m`).length < 100);
});

test('a terminal in the view ends up as it did before', () => {
  assert.equal(plainOutput('10%\r50%\r100%\r\nok'), '100%\nok');
  assert.equal(plainOutput('a\r\r\r\nb\r'), 'a\nb');
  assert.equal(plainOutput('abc\b\bX\n\b\by'), 'aX\ny');
  assert.deepEqual(printedLines('\u001b[31mred\u001b[0m\r\r\n50%\r\u001b[1m60%'), [
    [{ text: 'red', marks: [], colour: 1 }],
    [{ text: '60%', marks: [] }],
  ]);
});

test('characters that do not show are written out', () => {
  const hidden = [
    0x34f, 0x180b, 0x180d, 0x180f, 0xfff0, 0xfff8, 0xad, 0x200b, 0x202e, 0x2066, 0xfeff, 0xfe0f, 0xfe00, 0xe0041, 0x2800, 0x85, 0x7f, 0x0d,
  ];
  for (const code of hidden) {
    const text = `rm${String.fromCodePoint(code)} x`;
    HIDDEN.lastIndex = 0;
    assert.match(visibleText(text), /⟨U\+[0-9A-F]+⟩/, code.toString(16));
  }
  for (const text of ['👩‍👩‍👧', '❤️', '🏳️‍🌈', 'grün', '文档', 'a\tb\nc', 'ก็']) assert.equal(visibleText(text), text);
});

test('secrets of forty kinds do not enter the protocol log', () => {
  const s = 'q7W3x9Zk2Lm5Np8R';
  const messages: readonly unknown[] = [
    { apiKey: s },
    { 'x-api-key': s },
    { accessToken: s },
    { refresh_token: s },
    { clientSecret: s },
    { password: s },
    { passphrase: s },
    { private_key: s },
    { authorization: s },
    { auth: { user: 'me', value: s } },
    { cookies: [s] },
    { credentials: { a: [s] } },
    { tokens: [s], token: [s] },
    { headers: [{ name: 'X-Custom', value: s }] },
    { env: [{ name: 'X', value: s }] },
    { environment: { X: s } },
    { connectionString: s },
    { code_verifier: s },
    { code: `${s}${s}` },
    { webhookUrl: s },
    { url: `https://user:${s}@host/x` },
    { url: `https://host/?access_token=${s}&x=1` },
    { url: `https://host/#code=${s}` },
    { url: `https://bucket/x?X-Amz-Signature=${s}` },
    { url: `https://hooks.slack.com/services/T0/B0/${s}` },
    { text: `Authorization: Bearer ${s}` },
    { text: `curl -H 'Authorization: Basic ${s}='` },
    { text: `export OPENAI_API_KEY=${s}` },
    { text: `{"password":"${s}"}` },
    { text: JSON.stringify({ text: JSON.stringify({ api_key: s }) }) },
    { args: [`--api-key=${s}`] },
    { text: `deploy --token ${s}` },
    { text: `mysql --password ${s} -u x` },
    { text: `sk-proj-${s}` },
    { text: `ghp_${s}${s}` },
    { text: `github_pat_${s}${s}` },
    { text: `glpat-${s}` },
    { text: `xoxb-${s}` },
    { text: `AIza${s}${s}` },
    { text: `ya29.${s}` },
    { text: `eyJhbGciOi.${s}.${s}` },
    { text: `npm_${s}${s}` },
    { text: `hf_${s}` },
    { text: `-----BEGIN RSA PRIVATE KEY-----\n${s}\n-----END RSA PRIVATE KEY-----` },
    { text: `123456789:AA${s}${s}` },
    { text: `AccountKey=${s};EndpointSuffix=x` },
    { text: `Set-Cookie: ${s}` },
  ];
  assert.ok(messages.length >= 40);
  for (const message of messages) assert.ok(!traceLine(message).includes(s), JSON.stringify(message));
  const key = traceLine({ text: 'AKIAIOSFODNN7EXAMPLE' });
  assert.ok(!key.includes('IOSFODNN7'), key);
  assert.ok(!traceLine({ text: `${'x'.repeat(16_370)} Bearer ${s}` }).includes(s.slice(0, 6)), 'one that is cut');
});

test('the protocol log keeps what is no secret', () => {
  for (const message of [
    { max_tokens: 5, token_count: 7, usage: { input_tokens: 9 } },
    { sessionId: 'a1b2', code: 'ENOENT', error: { code: -32_600 } },
    { text: 'The token budget is exceeded; see the secretary. Basic authentication is off.' },
    { text: 'https://host/path?page=2#L12' },
    { authMethods: [{ id: 'login' }] },
  ]) {
    assert.equal(traceLine(message), JSON.stringify(message));
  }
});

test('what an approval shows of a text of megabytes takes a moment', () => {
  const words = (text: string) => plainMarkdown(text);
  for (const piece of ['\n', 'a b\n', '`a` ', '[a](b) ', '# a\n', '```\n']) {
    const text = piece.repeat(4_000_000 / piece.length);
    const tries = triesIn(() => words(text));
    assert.ok(tries < 200_000, `${JSON.stringify(piece)}: ${tries} tries`);
    assert.ok(words(text).length > text.length / 3, 'some of it is left out');
  }
});
