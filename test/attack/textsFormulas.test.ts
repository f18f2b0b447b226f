import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SessionSearch } from '../../src/live/sessionSearch.ts';
import { math } from '../../webview/bundles/math.ts';
import { assertBrief, assertLinear } from './linear.ts';

/** Formulas of an agent, and a search over what agents have said. */

/** Beyond, a formula is shown as it is written. */
const LONGEST = 4000;

test('a formula is drawn, or shown as it is written, in a moment', () => {
  const formulas: Readonly<Record<string, string>> = {
    braces: '{'.repeat(LONGEST / 2) + '}'.repeat(LONGEST / 2),
    fractions: '\\frac{1}{'.repeat(350) + '}'.repeat(350),
    roots: '\\sqrt{'.repeat(500) + '}'.repeat(500),
    'scripts of scripts': 'a^{'.repeat(900) + '}'.repeat(900),
    'pairs of brackets': '\\left('.repeat(280) + '\\right)'.repeat(280),
    'a macro of itself': '\\def\\a{\\a\\a}\\a',
    'macros that double': `${Array.from({ length: 26 }, (_, at) => `\\def\\${String.fromCharCode(97 + at)}z{${at === 0 ? 'x' : `\\${String.fromCharCode(96 + at)}z`.repeat(2)}}`).join('')}\\zz`,
    'new commands': `${'\\newcommand{\\q}[1]{#1#1}'}${'\\q{'.repeat(300)}x${'}'.repeat(300)}`,
    matrices: '\\begin{matrix}'.repeat(120) + '\\end{matrix}'.repeat(120),
    'many columns': `\\begin{array}{${'c'.repeat(1500)}}${'&'.repeat(1400)}\\end{array}`,
    rules: '\\rule{1e9em}{1e9em}'.repeat(150),
    colours: '\\color{#123456}{x}'.repeat(150),
    'nothing but backslashes': '\\'.repeat(LONGEST),
  };
  for (const [name, tex] of Object.entries(formulas)) {
    assert.ok(tex.length <= LONGEST, `${name}: ${tex.length}`);
    assertBrief(`formula of ${name}`, () => {
      let drawn = '';
      try {
        drawn = math(tex, true) ?? '';
      } catch {
        return;
      }
      assert.ok(drawn.length < 5_000_000, `${name}: ${drawn.length} characters`);
    });
  }
});

test('a search takes time in proportion to what was said', () => {
  const texts: Readonly<Record<string, readonly [string, string]>> = {
    'a word that nearly fits': ['a', `b${'a'.repeat(4000)}`],
    'a word that nearly fits at its end': ['a', `${'a'.repeat(4000)}b`],
    'a word of two letters': ['ab', `${'ab'.repeat(2000)}c`],
    'many words': ['a ', Array.from({ length: 2000 }, () => 'a').join(' ')],
    'many other words': ['abc ', Array.from({ length: 1000 }, (_, at) => (at % 2 ? 'a' : 'ab')).join(' ')],
  };
  for (const [name, [piece, query]] of Object.entries(texts)) {
    assertLinear(`search for ${name}`, 60_000, (size) => {
      const search = new SessionSearch(
        async () => undefined,
        () => 0,
      );
      // A title is searched at once, as a text is once it was read.
      const list = [{ id: 's', title: piece.repeat(size / piece.length), at: 1 }];
      return () => void search.find(query, list);
    });
  }
});
