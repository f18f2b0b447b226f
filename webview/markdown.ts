import DOMPurify from 'dompurify';
import { Lexer, Marked, type MarkedOptions, type Token, Tokenizer, type TokensList } from 'marked';
import { CodeBlock } from './codeBlock.ts';
import { type Target, targetOf } from './links.ts';
import { mathExtensions } from './math.ts';

/** Tags that may be written as HTML inside a paragraph; all other HTML is shown as text. */
const PLAIN_TAG = /^<\/?(?:br|kbd|sub|sup|b|i|em|strong|code|del|ins|mark|small)\s*\/?>$/i;

const marked = new Marked({
  gfm: true,
  extensions: [...mathExtensions],
  renderer: {
    html({ text }) {
      return PLAIN_TAG.test(text.trim()) ? text : escaped(text);
    },
    // No picture is fetched: that would tell a stranger that the answer was read.
    image({ href, text }) {
      return `<a href="${escaped(href)}">${escaped(text || href)}</a>`;
    },
    checkbox({ checked }) {
      return checked ? '☑ ' : '☐ ';
    },
    code({ text, lang }) {
      return `<pre title="${escaped(lang ?? '')}"><code>${escaped(text)}</code></pre>`;
    },
  },
});

/** Link definitions seen so far: label -> address. */
export type Definitions = TokensList['links'];

/** Splits markdown into blocks; their `raw` joined is the text. Line ends must be \n. */
export function blocksOf(text: string, definitions: Definitions): readonly Token[] {
  const lexer = new SafeLexer(marked.defaults);
  Object.assign(lexer.tokens.links, definitions);
  return lexer.lex(text);
}

/** Blocks as inert nodes, with links that only this view follows. */
export function drawBlocks(blocks: readonly Token[]): DocumentFragment {
  const fragment = DOMPurify.sanitize(marked.parser([...blocks]), {
    RETURN_DOM_FRAGMENT: true,
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ['href', 'title', 'start', 'align'],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: ADDRESSES,
  });
  for (const link of fragment.querySelectorAll('a')) aim(link);
  for (const item of fragment.querySelectorAll('li')) markTask(item);
  for (const table of fragment.querySelectorAll('table')) frameTable(table);
  return fragment;
}

/** A candidate for an address: the web, mail, a file with or without scheme and drive, `a.ts:12`. `aim` decides, and leaves none in the page but the web's. */
const ADDRESSES = /^(?:(?:https?|mailto|file):|[a-z]:(?:[\\/]|%5c)|[^a-z]|[a-z+.-]+(?:[^a-z+.:-]|$)|[^/\\:]+\.\w+:\d)/i;

const TAGS =
  'a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol p pre s small strong sub sup table tbody td th thead tr ul'.split(
    ' ',
  );

/** Turns the code listings of a drawn block into code blocks. */
export function dressCode(drawn: ParentNode): readonly CodeBlock[] {
  return [...drawn.querySelectorAll('pre')].map((pre) => {
    const block = new CodeBlock(pre.getAttribute('title') ?? '');
    block.append(pre.textContent ?? '');
    pre.replaceWith(block.box);
    return block;
  });
}

const targets = new WeakMap<Element, Target>();

/** The target of a link inside drawn markdown. */
export function targetAt(element: Element): Target | undefined {
  const link = element.closest('a');
  return link ? targets.get(link) : undefined;
}

function aim(link: HTMLAnchorElement): void {
  const target = targetOf(link.getAttribute('href') ?? '');
  if (!target) return link.replaceWith(...link.childNodes);
  targets.set(link, target);
  // The link's text may differ from its target.
  link.title = target.kind === 'web' ? target.uri : [target.path, target.line, target.column].filter((one) => one !== undefined).join(':');
  link.setAttribute('href', target.kind === 'web' ? target.uri : '#');
}

/** Wraps a node of the page in a link. */
export function linkTo(target: Target, shown: ChildNode): void {
  const link = document.createElement('a');
  link.setAttribute('href', '#');
  targets.set(link, target);
  shown.replaceWith(link);
  link.append(shown);
}

/** Puts the checkbox of a task where other items have their mark. */
function markTask(item: HTMLElement): void {
  let first = item.firstChild;
  while (first instanceof HTMLElement && first.localName === 'p') first = first.firstChild;
  if (!(first instanceof Text) || !/^\s*[☑☐] /.test(first.data)) return;
  const box = document.createElement('span');
  box.className = 'task-box';
  box.textContent = first.data.trimStart().slice(0, 2);
  first.data = first.data.trimStart().slice(2);
  first.before(box);
  item.classList.add('task');
}

function frameTable(table: HTMLTableElement): void {
  const frame = document.createElement('div');
  frame.className = 'table-frame';
  frame.tabIndex = 0;
  table.replaceWith(frame);
  frame.append(table);
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Limit of `*` and `_` in one paragraph, heading, cell or list line; beyond it they stay literal, as pairing them takes quadratic time. */
const MOST_MARKS = 200;
/** UTF-16 units of the text and of the address of a link in which a path of Windows is looked for. */
const LONGEST_LABEL = 2_000;
const LONGEST_ADDRESS = 1_000;
/** UTF-16 units of a heading that is underlined; a longer one is a paragraph. */
const LONGEST_HEADING = 1_000;
/** The address behind the label of a definition. */
const DEFINED = /^ {0,3}\[(?:\\[\s\S]|[^[\]\\])+\]:\s*(<[^<>\n]*>|\S+)/;
/** Limit of nested quotes and lists; deeper content is a paragraph. Each level is a nested call. */
const DEEPEST = 50;

/** Reads markdown in linear time and without stack overflow, whatever the input. */
class SafeLexer extends Lexer {
  /** True when the text being read has too many marks to pair them. */
  crowded = false;
  /** The places of backslashes of Windows paths in the text being read, counted from its end. */
  separators: ReadonlySet<number> = new Set();

  constructor(options: MarkedOptions) {
    super({ ...options, tokenizer: new BoundTokenizer() });
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    const { crowded, separators } = this;
    this.crowded = crowded || marksIn(src) > MOST_MARKS;
    this.separators = separatorsIn(src);
    try {
      return withoutLoneEnds(super.inlineTokens(src, tokens));
    } finally {
      this.crowded = crowded;
      this.separators = separators;
    }
  }
}

class BoundTokenizer extends Tokenizer {
  #depth = 0;

  /** Runs as the first rule and takes a word with its marks at once, as every other rule would scan the rest again. */
  override escape(src: string): ReturnType<Tokenizer['escape']> {
    if (!(this.lexer instanceof SafeLexer)) return super.escape(src);
    const { crowded, separators } = this.lexer;
    const kept = separators.has(src.length) ? src.slice(0, 2) : crowded ? /^[*_][\w*]*/.exec(src)?.[0] : undefined;
    return kept === undefined ? super.escape(src) : { type: 'escape', raw: kept, text: kept };
  }

  /** Reads the address of a link as it is written where it is a path of Windows, whose backslashes escape nothing. */
  override link(src: string): ReturnType<Tokenizer['link']> {
    const at = /^!?\[/.test(src) ? src.slice(0, LONGEST_LABEL).indexOf('](') + 2 : 1;
    const path = at > 1 ? windowsAddress(src.slice(at, at + LONGEST_ADDRESS)) : '';
    if (path === '') return super.link(src);
    const doubled = path.replaceAll('\\', '\\\\');
    const link = super.link(src.slice(0, at) + doubled + src.slice(at + path.length));
    if (!link) return undefined;
    // Added characters belong to no token.
    const inside = link.raw.slice(at, at + doubled.length).replaceAll('\\\\', '\\');
    return { ...link, raw: src.slice(0, at + inside.length + Math.max(0, link.raw.length - at - doubled.length)) };
  }

  /** The same for an address that is defined for several links: `[a]: C:\ws\.a`. */
  override def(src: string): ReturnType<Tokenizer['def']> {
    const found = super.def(src);
    const address = found && windowsAddress(DEFINED.exec(found.raw)?.[1] ?? '');
    return address ? { ...found, href: address.replace(/^<(.*)>$/, '$1') } : found;
  }

  /** Looks for the line below a heading as far as a heading goes, not to the end of the text. */
  override lheading(src: string): ReturnType<Tokenizer['lheading']> {
    const near = src.length <= LONGEST_HEADING ? src : src.slice(0, src.lastIndexOf('\n', LONGEST_HEADING) + 1);
    // The parser's own expression tries each character as the last one.
    return /\n {0,3}(?:=+|-+) *(?:\n|$)/.test(near) ? super.lheading(near) : undefined;
  }

  override blockquote(src: string): ReturnType<Tokenizer['blockquote']> {
    return this.#within(() => super.blockquote(src));
  }

  override list(src: string): ReturnType<Tokenizer['list']> {
    return this.#within(() => super.list(src));
  }

  #within<T>(read: () => T): T | undefined {
    if (this.#depth >= DEEPEST) return undefined;
    this.#depth += 1;
    try {
      return read();
    } finally {
      this.#depth -= 1;
    }
  }
}

/** The backslashes before punctuation in paths with a drive, counted from the end of the text. Doubled ones are written as markdown wants them. */
function separatorsIn(src: string): ReadonlySet<number> {
  const found = new Set<number>();
  for (const { 0: path, index } of src.matchAll(/(?<![\p{L}\p{N}_\\])[a-z]:\\(?![\\*])[^\s`<>"|]*/giu))
    for (const pair of path.matchAll(/\\./gu)) if (/[!-/:-@[^-`{-~\]]/.test(pair[0][1] ?? '')) found.add(src.length - index - pair.index);
  return found;
}

/** The address that begins a text if it is a path of Windows whose backslashes are not doubled; '' if not. */
function windowsAddress(text: string): string {
  const address = /^(?:<[^<>\n]*>|[^<\s]\S*)/.exec(text)?.[0] ?? '';
  const isPath = /^<?(?:[a-z]:\\|\\\\\w)/i.test(address) || /^<?[^/:)]*\\[\p{L}\p{N}]/u.test(address);
  return isPath && !address.includes('\\\\', address.startsWith('<') ? 2 : 1) ? address : '';
}

/** Shows an end tag as text where its beginning is shown as text, or is missing: a page would drop it. */
function withoutLoneEnds(tokens: Token[]): Token[] {
  /** Of each name, whether the tags that are open are drawn. */
  const open = new Map<string, boolean[]>();
  for (const [at, token] of tokens.entries()) {
    const [, slash, name = ''] = (token.type === 'html' && /^<(\/?)([a-z]+)\b/i.exec(token.raw.toLowerCase())) || [];
    if (!PLAIN_TAG.test(`<${name}>`) || name === 'br') continue;
    const drawn = open.get(name) ?? [];
    open.set(name, drawn);
    if (!slash) drawn.push(PLAIN_TAG.test(token.raw));
    else if (!drawn.pop()) tokens[at] = { type: 'escape', raw: token.raw, text: token.raw };
  }
  return tokens;
}

/** Counts the marks outside code. */
function marksIn(src: string): number {
  return src.replace(/`[^`]*`/g, '').match(/[*_]/g)?.length ?? 0;
}
