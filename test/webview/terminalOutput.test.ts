import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printedLines } from '../../webview/terminalOutput.ts';

test('colours of a terminal become looks; other sequences are dropped', () => {
  assert.deepEqual(printedLines('a\u001b[32mok\u001b[0m\n\u001b[1;31mbad\u001b[22m!\u001b[39m?\u001b[2Kx'), [
    [
      { text: 'a', marks: [] },
      { text: 'ok', marks: [], colour: 2 },
    ],
    [
      { text: 'bad', marks: ['ansi-bold'], colour: 1 },
      { text: '!', marks: [], colour: 1 },
      { text: '?x', marks: [], colour: undefined },
    ],
  ]);
});

test('a colour goes on over the end of a line; bright ones, those of 256 and any other are understood, before and behind the text', () => {
  assert.deepEqual(printedLines('\u001b[90ma\nb\u001b[38;5;200mc\u001b[48;2;1;2;300;1md\u001b[0;7;41me\u001b[27;49mf'), [
    [{ text: 'a', marks: [], colour: 8 }],
    [
      { text: 'b', marks: [], colour: 8 },
      { text: 'c', marks: [], colour: 200 },
      { text: 'd', marks: ['ansi-bold'], colour: 200, ground: [1, 2, 255] },
      { text: 'e', marks: [], swapped: true, ground: 1 },
      { text: 'f', marks: [], swapped: undefined, ground: undefined },
    ],
  ]);
});

test('what is written over itself is shown as it ends up', () => {
  assert.deepEqual(printedLines('\u001b[32m10%\r100%\u001b[0m'), [[{ text: '100%', marks: [] }]]);
});

test('a line that is written over itself loses its own colours only; a colour that begins in it goes on after it', () => {
  assert.deepEqual(printedLines('\u001b[32mok\u001b[0m\n10%\r\u001b[31m100%\nbad\r\n\u001b]0;a\nb\u0007end'), [
    [{ text: 'ok', marks: [], colour: 2 }],
    [{ text: '100%', marks: [] }],
    [{ text: 'bad', marks: [], colour: 1 }],
    [{ text: 'end', marks: [], colour: 1 }],
  ]);
});
