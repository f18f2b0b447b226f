import type { Mirror } from '../src/bridge/mirror.ts';
import type { HostConnection } from './host.ts';
import { absolute, pathInCode, type Target } from './links.ts';
import { linkTo, targetAt } from './markdown.ts';
import { isDrawnNow } from './sight.ts';
import type { Act } from './view.ts';

/** Paths in one request to the host. */
const AT_ONCE = 100;
/** Most blocks that wait; beyond that, the oldest stay unlinked. */
const MOST_WAITING = 2_000;
/** Milliseconds of reading without a pause. */
const STRETCH = 6;
/** Longest word that may be a path. */
const LONGEST_WORD = 300;

/** A word, with the place behind the name of a file: `a.ts(12,3)`. */
const WORD = /[^\s()[\]{}<>"'“”‘’`,;，。；：、（）]+(?:(?<=\.\w{1,8})\(\d{1,9}(?:,\d{1,9}){0,3}\))?/g;

const waiting: Element[] = [];
let wake: (() => void) | undefined;

/** Links the file paths in a finished block once the host has confirmed which of them exist. */
export function linkPathsLater(block: Element): void {
  if (!wake || !/\.\w/.test(block.textContent ?? '')) return;
  waiting.push(block);
  if (waiting.length > MOST_WAITING) waiting.shift();
  wake();
}

/** Lets the host check paths in the session that is shown, from now on. */
export function answerPaths(host: HostConnection, mirror: Mirror): void {
  let working = false;
  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      await new Promise<void>((resolve) => whenIdle(resolve));
      const found = nextWords();
      const cwd = mirror.session?.cwd ?? '';
      const paths = [...new Set(found.map(({ target }) => absolute(target.path, cwd)))];
      if (paths.length === 0) continue;
      const existing = new Set<string>();
      for (let at = 0; at < paths.length; at += AT_ONCE) {
        const asked = paths.slice(at, at + AT_ONCE);
        for (const path of await host.call('existing', { paths: asked }).catch(() => [])) existing.add(path);
      }
      for (const word of found.toReversed()) if (existing.has(absolute(word.target.path, cwd))) link(word);
    }
    working = false;
  };
  wake = () => {
    if (working) return;
    working = true;
    void work();
  };
}

/** Words of the longest-waiting blocks, as many as there is time for now. */
function nextWords(): readonly Word[] {
  const words: Word[] = [];
  const end = performance.now() + STRETCH;
  while (waiting.length > 0 && words.length < AT_ONCE && performance.now() < end) {
    const block = waiting.shift();
    if (block?.isConnected && isDrawnNow(block, () => linkPathsLater(block))) words.push(...wordsIn(block));
  }
  return words;
}

interface Word {
  readonly node: Text;
  /** The inline code that the word is all of. */
  readonly code?: Element;
  readonly from: number;
  readonly to: number;
  readonly target: Extract<Target, { kind: 'file' }>;
}

/** The words in text order, without listings, formulas and existing links; inline code is one word. */
function wordsIn(block: Element): readonly Word[] {
  const words: Word[] = [];
  const walk = document.createTreeWalker(block, 4);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const text = node.textContent ?? '';
    const code = node.parentElement?.closest('code');
    if (!text.includes('.') || code?.title || node.parentElement?.closest('a, pre')) continue;
    if (code) {
      const target = code.textContent === text ? pathInCode(text) : undefined;
      if (target?.kind === 'file') words.push({ node: node as Text, code, from: 0, to: text.length, target });
      continue;
    }
    for (const { 0: whole, index } of text.matchAll(WORD)) {
      if (whole.length > LONGEST_WORD) continue;
      const word = whole.replace(/[.:!?…]+$/, '');
      const target = pathInCode(word);
      if (target?.kind === 'file') words.push({ node: node as Text, from: index, to: index + word.length, target });
    }
  }
  return words;
}

/** Links one word. Callers go from the last word to the first: a node that is cut keeps its beginning. */
function link({ node, code, from, to, target }: Word): void {
  if (!node.isConnected || node.data.length < to) return;
  if (code) return linkTo(target, code);
  node.splitText(to);
  linkTo(target, node.splitText(from));
}

function whenIdle(run: () => void): void {
  if (typeof requestIdleCallback === 'function') requestIdleCallback(run, { timeout: 1000 });
  else setTimeout(run, 0);
}

/** Handles presses on links and code buttons inside drawn markdown, which is inert. */
export function followLinks(root: HTMLElement, act: Act): void {
  root.addEventListener('click', (event) => {
    const pressed = event.target;
    if (!(pressed instanceof Element)) return;
    const button = pressed.closest<HTMLElement>('[data-code]');
    if (button) {
      const block = button.closest('.code');
      if (button.dataset.code === 'source') return void block?.classList.toggle('drawn');
      if (button.dataset.code === 'wrap') return void block?.classList.toggle('unwrapped');
      const text = block?.querySelector('code')?.textContent?.replace(/\n$/, '') ?? '';
      return button.dataset.code === 'copy' ? act.copy(text) : act.insertAtCursor(text);
    }
    const link = pressed.closest('a');
    if (!link) return;
    event.preventDefault();
    const target = targetAt(link);
    if (target?.kind === 'web') act.openLink(target.uri);
    else if (target) act.open(target.path, target.line, target.column);
  });
}
