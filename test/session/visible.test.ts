import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstInText, shortened, visibleText } from '../../src/session/visible.ts';

test('what cannot be seen or turns the reading direction is written out, and nothing else', () => {
  assert.equal(visibleText('rm \u202etxt.cod\u0007 a\u200bb \u{e0041}'), 'rm ⟨U+202E⟩txt.cod⟨U+0007⟩ a⟨U+200B⟩b ⟨U+E0041⟩');
  assert.equal(visibleText('a\u{e0072}\u{e006d} \ud83d \ue000 \u0378 \u061c'), 'a⟨U+E0072⟩⟨U+E006D⟩ ⟨U+D83D⟩ ⟨U+E000⟩ ⟨U+0378⟩ ⟨U+061C⟩');
  const plain = 'tab\t, line\n, ünïcode, 漢字, عربى, 👩‍👩‍👧, ❤️';
  assert.equal(visibleText(plain), plain);
  assert.equal(visibleText('n\u0336p\u0338m e\u0301'), 'n⟨U+0336⟩p⟨U+0338⟩m e\u0301', 'strokes through letters');
  assert.equal(firstInText('struck o\u0336u\u0336t'), undefined, 'where they are meant to be read so');
  assert.equal(visibleText('rm a\u200db'), 'rm a⟨U+200D⟩b', 'a joiner that joins no picture');
});

test('a long label is cut between two characters', () => {
  assert.equal(shortened('abcd', 4), 'abcd');
  assert.equal(shortened('abcde', 4), 'abc…');
  assert.equal(shortened('😀😀😀', 3), '😀😀😀');
  assert.equal(shortened('😀😀😀😀', 3), '😀😀…');
});
