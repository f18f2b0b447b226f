import { AsyncDirective, directive } from 'lit/async-directive.js';
import { type ElementPart, type PartInfo, PartType } from 'lit/directive.js';
import { html, noChange, type TemplateResult } from 'lit/html.js';
import type { Token } from 'marked';
import { linkPathsLater } from './answerLinks.ts';
import { CodeBlock } from './codeBlock.ts';
import { blocksOf, type Definitions, drawBlocks, dressCode } from './markdown.ts';
import { drawMath, opensMath } from './math.ts';

interface DrawnBlock {
  readonly raw: string;
  readonly element: HTMLElement;
  readonly codes: readonly CodeBlock[];
}
/** A top-level fence that has opened and not closed. The lexer never reads its lines. */
interface OpenFence {
  readonly mark: string;
  readonly code: CodeBlock;
  /** UTF-16 units of the current line that are drawn. */
  drawn: number;
}

/** UTF-16 units of the longest block; a longer one goes on in a block of its own. An unfinished block is read again with each piece of text. */
const LONGEST_BLOCK = 16 * 1024;
/** UTF-16 units of the longest head of a table that is repeated where the table goes on. */
const LONGEST_HEAD = LONGEST_BLOCK / 8;
/** Blocks in one box, which the browser skips while it is out of sight. */
const BLOCKS_TOGETHER = 40;
/** UTF-16 units of accumulated text drawn per frame, and of a complete text drawn at once. */
const A_FRAME = 4_000;
const AT_ONCE = 12_000;
/** A label in brackets, of at most 999 characters as everywhere, without a following parenthesis: it may be defined later. */
const MAY_LINK = /\[[^\]]{1,999}\](?!\()/;

/**
 * Markdown that grows. The result depends on the text only, not on the pieces it came in; a finished block is never read or drawn again (except for a
 * link definition that comes later than the link).
 */
export class MarkdownView {
  readonly #root: HTMLElement;
  #drawing: Drawing;
  #text = '';
  #done = false;
  /** The text grew after it seemed complete; it is not taken for complete again until it is. */
  #resumed = false;
  /** Text received and not drawn yet. */
  #waiting = '';
  #frame = 0;

  constructor(root: HTMLElement) {
    this.#root = root;
    this.#drawing = new Drawing(root);
  }

  /**
   * `complete`: no more text comes, so draw everything and colour an open fence; `seemingly` when other parts follow and it grows only as an exception.
   * `added`: the new end of the text, where known.
   */
  show(text: string, complete: boolean | 'seemingly', added?: string): void {
    const done = complete === true || (complete === 'seemingly' && !this.#resumed);
    if (text.length === this.#text.length && text === this.#text && (this.#done || !done)) return;
    const grown = this.#grownBy(text, added);
    if (grown === undefined) {
      this.#resumed ||= this.#done;
      this.#restart();
    }
    this.#done ||= complete === true || (done && !this.#resumed);
    this.#waiting += grown ?? text;
    this.#text = text;
    // A pending frame also draws text that arrives meanwhile.
    if (this.#frame === 0 || this.#done) this.#work();
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  /** The added text; undefined when the text was replaced. */
  #grownBy(text: string, added: string | undefined): string | undefined {
    if (!this.#done && added !== undefined && text.length === this.#text.length + added.length) return added;
    return text.startsWith(this.#text) && (!this.#done || text === this.#text) ? text.slice(this.#text.length) : undefined;
  }

  #restart(): void {
    this.stop();
    this.#root.replaceChildren();
    this.#drawing = new Drawing(this.#root);
    this.#done = false;
    this.#waiting = '';
  }

  /** Draws received text; of a long one only a beginning for now. */
  #work(): void {
    const whole = this.#waiting.length <= (this.#done ? AT_ONCE : A_FRAME);
    const now = whole ? this.#waiting : this.#waiting.slice(0, A_FRAME);
    this.#waiting = this.#waiting.slice(now.length);
    this.#drawing.append(now, this.#done && whole);
    if (!whole && this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#drawFrame());
  }

  #drawFrame(): void {
    this.#frame = 0;
    this.#work();
  }
}

/** The drawing of one text, from its beginning. */
class Drawing {
  readonly #chunks: BlockGroups;
  readonly #links = new LateLinks();
  /** Unfinished text: blocks that may still change, or text that the open fence has not received yet. */
  #tail = '';
  /** The first half of a possible two-character line end. */
  #heldBack = '';
  #growing: (DrawnBlock | undefined)[] = [];
  #fence: OpenFence | undefined;
  #done = false;

  constructor(root: HTMLElement) {
    this.#chunks = new BlockGroups(root);
  }

  append(text: string, done: boolean): void {
    this.#done = done;
    const whole = this.#heldBack + text;
    this.#heldBack = whole.endsWith('\r') && !done ? '\r' : '';
    const usable = whole.slice(0, whole.length - this.#heldBack.length);
    this.#tail += usable.includes('\r') ? usable.replace(/\r\n?/g, '\n') : usable;
    this.#draw();
  }

  #draw(): void {
    while (!this.#fence || this.#fill(this.#fence)) {
      const part = this.#tail.slice(0, this.#tail.length > LONGEST_BLOCK ? blockEnd(this.#tail) : undefined);
      const isCut = part.length < this.#tail.length;
      const blocks = blocksOf(part, this.#links.definitions);
      const opening = openFence(blocks.at(-1));
      const drawn = opening ? blocks.slice(0, -1) : blocks;
      const finished = opening || (this.#done && !isCut) ? drawn.length : finishedCount(drawn);
      if (opening) this.#open(drawn, opening, this.#tail.slice(part.length));
      else if (!isCut) return this.#paint(drawn, finished);
      else if (finished > 0) this.#paint(drawn.slice(0, finished), finished);
      else this.#endBlock(drawn);
    }
  }

  #open(before: readonly Token[], { info, mark, body }: Opening, rest: string): void {
    this.#paint(before, before.length);
    const code = new CodeBlock(info);
    this.#chunks.show([code.box]);
    this.#chunks.finish(1);
    this.#fence = { mark, code, drawn: 0 };
    this.#tail = body + rest;
  }

  /** Ends a block that is too long where it is. A table goes on in one with the same head. */
  #endBlock(drawn: readonly Token[]): void {
    this.#paint(drawn, drawn.length);
    const last = drawn.at(-1);
    const head = last?.type === 'table' ? (/^.*\n.*\n/.exec(last.raw)?.[0] ?? '') : '';
    if (head.length <= LONGEST_HEAD) this.#tail = head + this.#tail;
  }

  /** Draws the new blocks; the first `keep` blocks are finished and leave the tail. */
  #paint(blocks: readonly Token[], keep: number): void {
    const boxes = blocks.map((block, index) => (isDrawn(block) ? boxOf(block, this.#growing[index]) : undefined));
    this.#chunks.show(boxes.flatMap((box) => box?.element ?? []));
    const finished = boxes.splice(0, keep);
    this.#chunks.finish(finished.filter(Boolean).length);
    for (const box of finished) {
      if (!box) continue;
      this.#links.watch(box);
      finishBox(box);
    }
    this.#growing = boxes;
    this.#tail = this.#tail.slice(blocks.slice(0, keep).reduce((sum, block) => sum + block.raw.length, 0));
    this.#links.define(blocks.slice(0, keep));
  }

  /** Adds received text to the fence. True when it has closed and the tail continues after it. */
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

/** Drawn blocks in order, forty to a box. */
class BlockGroups {
  readonly #root: HTMLElement;
  readonly #chunks: HTMLElement[] = [];
  /** Number of finished blocks, and the last of them. */
  #count = 0;
  #last: Element | undefined;
  /** The blocks after the finished ones. */
  #growing: readonly HTMLElement[] = [];

  constructor(root: HTMLElement) {
    this.#root = root;
  }

  /** Puts exactly these blocks after the finished ones. */
  show(blocks: readonly HTMLElement[]): void {
    for (const old of this.#growing) if (!blocks.includes(old)) old.remove();
    let last = this.#last;
    for (const [at, block] of blocks.entries()) {
      this.#place(block, this.#count + at, last);
      last = block;
    }
    this.#growing = blocks;
    while ((this.#chunks.length - 1) * BLOCKS_TOGETHER >= this.#count + blocks.length) this.#chunks.pop()?.remove();
  }

  /** Marks the first `count` shown blocks as finished. */
  finish(count: number): void {
    this.#last = this.#growing[count - 1] ?? this.#last;
    this.#count += count;
    this.#growing = this.#growing.slice(count);
  }

  #place(block: HTMLElement, index: number, before: Element | undefined): void {
    const number = Math.floor(index / BLOCKS_TOGETHER);
    const chunk = this.#chunks[number] ?? this.#begin();
    if (before?.parentElement === chunk) {
      if (before.nextSibling !== block) before.after(block);
    } else if (chunk.firstChild !== block) chunk.prepend(block);
  }

  #begin(): HTMLElement {
    const chunk = document.createElement('div');
    chunk.className = 'chunk';
    this.#chunks.at(-1)?.classList.add('full');
    this.#chunks.push(chunk);
    this.#root.append(chunk);
    return chunk;
  }
}

/** Link definitions, and the finished blocks that a later one may change. */
class LateLinks {
  readonly definitions: Definitions = {};
  readonly #open: DrawnBlock[] = [];

  watch(box: DrawnBlock): void {
    if (MAY_LINK.test(box.raw) && box.element.classList.contains('block')) this.#open.push(box);
  }

  /** Records the definitions among the blocks, and draws the links that waited for them. */
  define(blocks: readonly Token[]): void {
    const defined: string[] = [];
    for (const block of blocks) {
      if (block.type !== 'def' || block.tag in this.definitions) continue;
      this.definitions[block.tag] = { href: block.href, title: block.title };
      defined.push(`[${block.tag}]`);
    }
    if (defined.length === 0) return;
    for (const box of this.#open) {
      const raw = box.raw.toLowerCase();
      if (!defined.some((label) => raw.includes(label))) continue;
      const drawn = drawBlocks(blocksOf(box.raw, this.definitions));
      for (const code of dressCode(drawn)) code.finish();
      drawMath(drawn);
      box.element.replaceChildren(drawn);
    }
  }
}

/** The box of a drawn block; reuses the old box where it fits. */
function boxOf(block: Token, old: DrawnBlock | undefined): DrawnBlock {
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

function finishBox({ element, codes }: DrawnBlock): void {
  element.classList.add('finished');
  for (const code of codes) code.finish();
  drawMath(element);
  linkPathsLater(element);
}

/** Number of blocks that cannot change any more: not the last two, nor an open formula. */
function finishedCount(blocks: readonly Token[]): number {
  const most = Math.max(0, blocks.length - 2);
  const open = blocks.findLastIndex(({ raw, type }) => type === 'paragraph' && opensMath(raw));
  const rest = blocks.slice(open).map(({ raw }) => raw);
  return open >= 0 && open < most && opensMath(rest.join('')) ? open : most;
}

/** Where the first block of a text ends if it is too long: before a line that is not indented, if there is one. */
function blockEnd(text: string): number {
  for (let end = text.lastIndexOf('\n', LONGEST_BLOCK - 1); end > LONGEST_BLOCK / 2; end = text.lastIndexOf('\n', end - 1)) {
    if (/\S/.test(text[end + 1] ?? '')) return end + 1;
  }
  const space = Math.max(text.lastIndexOf('\n', LONGEST_BLOCK - 1), text.lastIndexOf(' ', LONGEST_BLOCK - 1));
  if (space > LONGEST_BLOCK / 2) return space + 1;
  return /[\uD800-\uDBFF]/.test(text[LONGEST_BLOCK - 1] ?? '') ? LONGEST_BLOCK - 1 : LONGEST_BLOCK;
}

function isDrawn(block: Token): boolean {
  return block.type !== 'space' && block.type !== 'def';
}

interface Opening {
  readonly mark: string;
  readonly info: string;
  readonly body: string;
}

/** The last block, when it is an unclosed fence at the left edge whose first line is complete. */
function openFence(block: Token | undefined): Opening | undefined {
  const end = block?.type === 'code' ? block.raw.indexOf('\n') : -1;
  // Without the end of its line, an expression would try each length of a mark.
  const found = /^(`{3,}|~{3,})(.*)$/s.exec(block?.raw.slice(0, Math.max(0, end)) ?? '');
  if (!block || !found) return undefined;
  const [, mark = '', info = ''] = found;
  const body = block.raw.slice(end + 1);
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

class Markdown extends AsyncDirective {
  #view: MarkdownView | undefined;

  constructor(info: PartInfo) {
    super(info);
    if (info.type !== PartType.ELEMENT) throw new Error('markdown() belongs on an element');
  }

  override update(part: ElementPart, [text, complete, added]: Parameters<MarkdownView['show']>): typeof noChange {
    this.#view ??= new MarkdownView(part.element as HTMLElement);
    this.#view.show(text, complete, added);
    return noChange;
  }

  render(..._given: Parameters<MarkdownView['show']>): typeof noChange {
    return noChange;
  }

  protected override disconnected(): void {
    this.#view?.stop();
  }
}

/** Draws markdown into its element and owns the element's content. */
const markdown = directive(Markdown);

/** Markdown from an agent; see `MarkdownView.show`. */
export function textView(...given: Parameters<MarkdownView['show']>): TemplateResult {
  return html`<div class="markdown" dir="auto" ${markdown(...given)}></div>`;
}
