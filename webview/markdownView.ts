import type { Token } from 'marked';
import { CodeBlock } from './codeBlock.ts';
import { blocksOf, type Definitions, drawBlocks, dressCode } from './markdown.ts';
import { drawMath, opensMath } from './math.ts';
import { linkPathsLater } from './plainPaths.ts';

interface Box {
  readonly raw: string;
  readonly element: HTMLElement;
  readonly codes: readonly CodeBlock[];
}
/** A top-level fence that has opened and not closed. Its lines never see the lexer. */
interface OpenFence {
  readonly mark: string;
  readonly code: CodeBlock;
  /** How much of the line under way is drawn. */
  drawn: number;
}

/** An unfinished block longer than this is read again only when it has grown by a sixteenth, so that its cost stays linear. */
const LONG_BLOCK = 16 * 1024;
const CATCH_UP_MS = 200;
/** So many blocks share a box that the browser leaves alone while it is out of sight. */
const BLOCKS_TOGETHER = 40;
/** A label in brackets that nothing in round ones follows: it may be defined later. */
const MAY_LINK = /\[[^\]]+\](?!\()/;

/**
 * Markdown that grows. What is drawn depends on the text only, not on the pieces it came in; a finished block is never read or drawn again
 * (but for a link definition that comes later than the link).
 */
export class MarkdownView {
  readonly #root: HTMLElement;
  #text = '';
  #tail = '';
  #definitions: Definitions = {};
  /** Finished blocks that a later link definition may change. */
  #open: Box[] = [];
  #growing: (Box | undefined)[] = [];
  /** How many blocks are finished, and the last of them. */
  #count = 0;
  #last: Element | undefined;
  #chunks: HTMLElement[] = [];
  #fence: OpenFence | undefined;
  #read = 0;
  #late: ReturnType<typeof setTimeout> | undefined;
  #done = false;

  constructor(root: HTMLElement) {
    this.#root = root;
  }

  /** `done`: no more is expected, so draw everything and colour an open fence. */
  show(text: string, done: boolean): void {
    if (text.length === this.#text.length && text === this.#text && (this.#done || !done)) return;
    if (!text.startsWith(this.#text) || (this.#done && text !== this.#text)) this.#restart();
    this.#done ||= done;
    const heldBack = this.#text.endsWith('\r') ? '\r' : '';
    const grown = heldBack + text.slice(this.#text.length);
    this.#text = text;
    const usable = grown.endsWith('\r') && !done ? grown.slice(0, -1) : grown;
    this.#tail += usable.includes('\r') ? usable.replace(/\r\n?/g, '\n') : usable;
    this.#draw();
  }

  stop(): void {
    clearTimeout(this.#late);
    this.#late = undefined;
  }

  #restart(): void {
    this.stop();
    this.#root.replaceChildren();
    this.#text = '';
    this.#tail = '';
    this.#definitions = {};
    this.#count = 0;
    this.#last = undefined;
    this.#chunks = [];
    this.#done = false;
    this.#open = [];
    this.#growing = [];
    this.#fence = undefined;
    this.#read = 0;
  }

  #draw(): void {
    for (;;) {
      if (this.#fence && !this.#fill(this.#fence)) return;
      if (!this.#done && this.#waits()) return;
      this.stop();
      this.#read = this.#tail.length;
      const blocks = blocksOf(this.#tail, this.#definitions);
      const opening = openFence(blocks.at(-1));
      const drawn = opening ? blocks.slice(0, -1) : blocks;
      this.#paint(drawn, opening || this.#done ? drawn.length : finishedCount(drawn));
      if (!opening) return;
      const code = new CodeBlock(opening.info);
      this.#place(code.box, this.#count, this.#last);
      this.#last = code.box;
      this.#count += 1;
      this.#fence = { mark: opening.mark, code, drawn: 0 };
      this.#tail = opening.body;
      this.#read = 0;
    }
  }

  #waits(): boolean {
    const grown = this.#tail.length - this.#read;
    if (this.#tail.length < LONG_BLOCK || grown > this.#tail.length / 16) return false;
    this.#late ??= setTimeout(() => {
      this.#read = 0;
      this.#late = undefined;
      this.#draw();
    }, CATCH_UP_MS);
    return true;
  }

  /** Draws what is new; the first `keep` blocks are finished and leave the tail. */
  #paint(blocks: readonly Token[], keep: number): void {
    const growing = blocks.map((block, index) => (isDrawn(block) ? this.#box(block, this.#growing[index]) : undefined));
    for (const old of this.#growing) if (old && !growing.some((box) => box?.element === old.element)) old.element.remove();
    let last = this.#last;
    let index = this.#count;
    for (const box of growing) {
      if (!box) continue;
      this.#place(box.element, index, last);
      last = box.element;
      index += 1;
    }
    while (this.#chunks.length * BLOCKS_TOGETHER >= index + BLOCKS_TOGETHER) this.#chunks.pop()?.remove();
    this.#finish(blocks.slice(0, keep), growing.splice(0, keep));
    this.#growing = growing;
    this.#read = this.#tail.length;
  }

  /** Puts the block with this number where it belongs, after the one before it. */
  #place(element: HTMLElement, index: number, before: Element | undefined): void {
    const number = Math.floor(index / BLOCKS_TOGETHER);
    let chunk = this.#chunks[number];
    if (!chunk) {
      chunk = document.createElement('div');
      chunk.className = 'chunk';
      this.#chunks[number] = chunk;
      this.#root.append(chunk);
      this.#chunks[number - 1]?.classList.add('full');
    }
    if (before?.parentElement === chunk) {
      if (before.nextSibling !== element) before.after(element);
    } else if (chunk.firstChild !== element) chunk.prepend(element);
  }

  #box(block: Token, old: Box | undefined): Box {
    if (old?.raw === block.raw) return old;
    const { raw } = block;
    if (block.type === 'code') {
      const code = new CodeBlock(block.lang ?? '');
      code.append(block.text === '' || block.text.endsWith('\n') ? block.text : `${block.text}\n`);
      return { raw, element: code.box, codes: [code] };
    }
    const element = old?.element.className === 'block' ? old.element : document.createElement('div');
    element.className = 'block';
    const drawn = drawBlocks([block]);
    const codes = dressCode(drawn);
    element.replaceChildren(drawn);
    return { raw, element, codes };
  }

  #finish(blocks: readonly Token[], boxes: readonly (Box | undefined)[]): void {
    const defined: string[] = [];
    for (const block of blocks) {
      if (block.type !== 'def' || block.tag in this.#definitions) continue;
      this.#definitions[block.tag] = { href: block.href, title: block.title };
      defined.push(`[${block.tag}]`);
    }
    for (const box of boxes) {
      if (!box) continue;
      if (MAY_LINK.test(box.raw) && box.element.classList.contains('block')) this.#open.push(box);
      this.#last = box.element;
      this.#count += 1;
      box.element.classList.add('finished');
      for (const code of box.codes) code.finish();
      drawMath(box.element);
      linkPathsLater(box.element);
    }
    this.#tail = this.#tail.slice(blocks.reduce((sum, block) => sum + block.raw.length, 0));
    if (defined.length > 0) this.#link(defined);
  }

  /** Definitions may come after the links that use them. */
  #link(defined: readonly string[]): void {
    for (const box of this.#open) {
      const raw = box.raw.toLowerCase();
      if (!defined.some((label) => raw.includes(label))) continue;
      const drawn = drawBlocks(blocksOf(box.raw, this.#definitions));
      for (const code of dressCode(drawn)) code.finish();
      drawMath(drawn);
      box.element.replaceChildren(drawn);
    }
  }

  /** Gives the fence what has come of it. True when it has closed and the tail goes on after it. */
  #fill(fence: OpenFence): boolean {
    let line = 0;
    for (let end = this.#tail.indexOf('\n'); end >= 0; end = this.#tail.indexOf('\n', line)) {
      if (closes(this.#tail.slice(line, end), fence.mark)) return this.#close(fence, line, end);
      line = end + 1;
    }
    const rest = this.#tail.slice(line);
    if (this.#done && closes(rest, fence.mark)) return this.#close(fence, line, this.#tail.length);
    const shown = this.#done || !mayClose(rest) ? this.#tail.length : line;
    if (shown > fence.drawn) fence.code.append(this.#tail.slice(fence.drawn, shown));
    fence.drawn = Math.max(fence.drawn, shown) - line;
    this.#tail = rest;
    if (this.#done) fence.code.finish();
    return false;
  }

  #close(fence: OpenFence, line: number, end: number): true {
    fence.code.append(this.#tail.slice(fence.drawn, line));
    fence.code.finish();
    fence.code.box.classList.add('finished');
    this.#fence = undefined;
    this.#tail = this.#tail.slice(end);
    return true;
  }
}

/** The last two blocks may still change, and all of a formula that has begun. */
function finishedCount(blocks: readonly Token[]): number {
  const most = Math.max(0, blocks.length - 2);
  const open = blocks.findLastIndex(({ raw, type }) => type === 'paragraph' && opensMath(raw));
  const rest = blocks.slice(open).map(({ raw }) => raw);
  return open >= 0 && open < most && opensMath(rest.join('')) ? open : most;
}

function isDrawn(block: Token): boolean {
  return block.type !== 'space' && block.type !== 'def';
}

interface Opening {
  readonly mark: string;
  readonly info: string;
  readonly body: string;
}

/** The last block, when it is a fence at the left edge whose first line is whole and whose end has not come. */
function openFence(block: Token | undefined): Opening | undefined {
  const found = block?.type === 'code' ? /^(`{3,}|~{3,})([^\n]*)\n/.exec(block.raw) : null;
  if (!block || !found) return undefined;
  const [head, mark = '', info = ''] = found;
  const body = block.raw.slice(head.length);
  return body.split('\n').some((line) => closes(line, mark)) ? undefined : { mark, info: info.trim(), body };
}

function closes(line: string, mark: string): boolean {
  const found = /^ {0,3}(`+|~+) *$/.exec(line);
  return found?.[1]?.startsWith(mark) ?? false;
}

/** True while more characters can still make the line the end of a fence. */
function mayClose(line: string): boolean {
  return /^ {0,3}[`~]* *$/.test(line);
}
