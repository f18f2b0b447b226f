import assert from 'node:assert/strict';
import { test } from 'node:test';
import { styledLines } from '../../webview/terminalOutput.ts';

test('colours of a terminal become looks; other sequences are dropped', () => {
  assert.deepEqual(styledLines('a\u001b[32mok\u001b[0m\n\u001b[1;31mbad\u001b[22m!\u001b[39m?\u001b[2Kx'), [
    [
      { text: 'a', look: '' },
      { text: 'ok', look: 'ansi-green' },
    ],
    [
      { text: 'bad', look: 'ansi-bold ansi-red' },
      { text: '!', look: 'ansi-red' },
      { text: '?x', look: '' },
    ],
  ]);
});

test('a colour goes on over the end of a line, bright ones are understood, and those of other palettes become the nearest', () => {
  assert.deepEqual(styledLines('\u001b[90ma\nb\u001b[38;5;200mc'), [
    [{ text: 'a', look: 'ansi-bright-black' }],
    [
      { text: 'b', look: 'ansi-bright-black' },
      { text: 'c', look: 'ansi-bright-magenta' },
    ],
  ]);
});

test('what is written over itself is shown as it ends up', () => {
  assert.deepEqual(styledLines('\u001b[32m10%\r100%\u001b[0m'), [[{ text: '100%', look: '' }]]);
});

test('a line that is written over itself loses its own colours only; a colour that begins in it goes on after it', () => {
  assert.deepEqual(styledLines('\u001b[32mok\u001b[0m\n10%\r\u001b[31m100%\nbad\r\n\u001b]0;a\nb\u0007end'), [
    [{ text: 'ok', look: 'ansi-green' }],
    [{ text: '100%', look: '' }],
    [{ text: 'bad', look: 'ansi-red' }],
    [{ text: 'end', look: 'ansi-red' }],
  ]);
});
