import DOMPurify from 'dompurify';
import type { TokenizerAndRendererExtension, Tokens } from 'marked';
import { loaded, onDemand } from './onDemand.ts';

/** TeX in markdown: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` as blocks. Shown as code until the bundle that draws it is loaded. */

/** Longest formula drawn, in UTF-16 units; longer ones stay as written. */
const LONGEST = 4_000;
/** Milliseconds of drawing formulas in one frame. */
const STRETCH = 8;
const IN_LINE = /^(?:\$(?![\s$])((?:\\[^\n]|[^\\$\n]){1,1000}?)(?<!\s)\$(?![\w$])|\\\(((?:\\(?!\))[^\n]|[^\\\n]){1,1000}?)\\\))/;
const BY_ITSELF =
  /^(?:\$\$((?:[^$\n]|\n(?!\s*\n)|\\\$){1,4000}?)\$\$|\\\[((?:[^\\\n]|\\[^\]\n]|\\?\n(?!\s*\n)){1,4000}?)\\\])[ \t]*(?:\n+|$)/;
/** Titles of code elements that mark formulas in the markdown parser's output. */
const TITLES = { inline: 'math', block: 'math block' } as const;

interface MathToken extends Tokens.Generic {
  readonly text: string;
}

const drawnAs = (kind: keyof typeof TITLES, text: string) =>
  `<code title="${TITLES[kind]}">${text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)}</code>`;

export const mathExtensions: readonly TokenizerAndRendererExtension[] = [
  {
    name: 'mathBlock',
    level: 'block',
    start: formulaInParagraph,
    tokenizer: (src) => tokenOf('mathBlock', BY_ITSELF.exec(src)),
    renderer: (token) => `<p>${drawnAs('block', (token as MathToken).text)}</p>`,
  },
  {
    name: 'mathInline',
    level: 'inline',
    start: (src) => startIn(src.slice(0, LONGEST), /(?<![\w$\\])\$(?![\s$])|\\\(/),
    tokenizer: (src) => tokenOf('mathInline', IN_LINE.exec(src)),
    renderer: (token) => drawnAs('inline', (token as MathToken).text),
  },
];

/** The parser calls this for each of its tokens, with the text behind the first character: searches only as far as the next one can reach. */
function startIn(text: string, beginning: RegExp): number | undefined {
  return /[$\\]/.test(text) ? beginning.exec(text)?.index : undefined;
}

/** Lines of a paragraph that are tried as the beginning of a formula; each may cost as much as the longest formula. */
const MOST_TRIES = 8;

/** The line end before the next formula of this paragraph, among its next `LONGEST` units. The parser reads the paragraph again for each, so only what is one counts. */
function formulaInParagraph(src: string): number | undefined {
  const near = src.slice(0, LONGEST);
  const end = near.indexOf('\n\n');
  let tries = 0;
  for (const { index } of near.slice(0, end < 0 ? LONGEST : end).matchAll(/\n(?=\$\$|\\\[)/g)) {
    if (tokenOf('mathBlock', BY_ITSELF.exec(src.slice(index + 1, index + 2 * LONGEST)))) return index;
    tries += 1;
    if (tries === MOST_TRIES) return undefined;
  }
  return undefined;
}

function tokenOf(type: string, found: RegExpExecArray | null): MathToken | undefined {
  const text = (found?.[1] ?? found?.[2] ?? '').trim();
  return found && text !== '' ? { type, raw: found[0], text } : undefined;
}

/** True while an open formula may still end: the following text may belong to it. */
export function opensMath(raw: string): boolean {
  return /^(?:\$\$|\\\[)/.test(raw) && raw.length <= LONGEST && !/\n\s*\n/.test(raw);
}

/** Formulas that wait to be drawn, oldest first. */
let waiting: HTMLElement[] = [];
let isWorking = false;

/** Draws the formulas of a block in the next frames, or once the bundle is loaded. */
export function drawMath(block: ParentNode): void {
  const formulas = block.querySelectorAll<HTMLElement>('code[title^="math"]');
  if (formulas.length === 0) return;
  waiting.push(...formulas);
  if (isWorking) return;
  isWorking = true;
  if (loaded('math')) requestAnimationFrame(drawSome);
  else onDemand('math').then(drawSome, drawNone);
}

function drawNone(): void {
  waiting = [];
  isWorking = false;
}

/** Draws for as long as a frame has time, and goes on in the next one. */
function drawSome(): void {
  const end = performance.now() + STRETCH;
  const plain = !fontsHaveLetters();
  let drawn = 0;
  while (drawn < waiting.length && (drawn === 0 || performance.now() < end)) draw(waiting[drawn++], plain);
  waiting = waiting.slice(drawn);
  isWorking = waiting.length > 0;
  if (isWorking) requestAnimationFrame(drawSome);
}

function draw(code: HTMLElement | undefined, plain: boolean): void {
  const tex = code?.textContent ?? '';
  const mathml = tex.length <= LONGEST ? loaded('math')?.math(tex, code?.title === TITLES.block) : undefined;
  if (!code || mathml === undefined) return;
  const drawn = DOMPurify.sanitize(mathml, { USE_PROFILES: { mathMl: true }, FORBID_ATTR: ['style', 'href'], RETURN_DOM_FRAGMENT: true });
  const { firstElementChild } = drawn;
  if (!firstElementChild) return;
  if (plain) usePlainLetters(firstElementChild);
  const frame = document.createElement('span');
  frame.className = code.title === TITLES.block ? 'math math-block' : 'math';
  frame.title = tex;
  frame.append(firstElementChild);
  code.replaceWith(frame);
}

/** Letters of mathematics, which few fonts have besides those made for formulas. */
const LETTERS = /[\u{1d400}-\u{1d7ff}]/gu;
const BOLD = /[\u{1d400}-\u{1d433}\u{1d6a8}-\u{1d6e1}\u{1d7ce}-\u{1d7d7}]/u;

/** Whether some font of this computer has these letters: a box stands for those that none has, as wide for each. */
export function fontsHaveLetters(): boolean {
  const pen = document.createElement('canvas').getContext('2d');
  if (!pen) return true;
  pen.font = '100px math, sans-serif';
  return pen.measureText('𝑖').width !== pen.measureText('𝑚').width;
}

/** Writes a formula in the letters of all fonts; the browser would draw a single letter as one of mathematics. */
export function usePlainLetters(formula: Element): void {
  formula.classList.add('plain-letters');
  for (const leaf of formula.querySelectorAll('mi, mn, mo, mtext')) {
    const text = leaf.textContent ?? '';
    if (BOLD.test(text)) leaf.classList.add('bold');
    else if (leaf.localName === 'mi' && /^\p{L}$/u.test(text) && leaf.getAttribute('mathvariant') !== 'normal')
      leaf.classList.add('italic');
    if (leaf.childElementCount === 0) leaf.textContent = text.replace(LETTERS, (letter) => letter.normalize('NFKC'));
  }
}
