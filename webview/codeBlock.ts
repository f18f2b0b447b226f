import DOMPurify from 'dompurify';
import { highlightLater } from './highlighter.ts';
import { icon } from './icons.ts';
import { onDemand } from './onDemand.ts';
import { t } from './strings.ts';
import { isDark, themeColour } from './theme.ts';

/** Lines in one contained piece, and pieces in one contained group: the browser reads only the last of each again, however long the code is. */
const LINES = 20;
const PIECES = 20;

/** A block of code that grows at its end. Its text never changes otherwise. */
export class CodeBlock {
  readonly box: HTMLElement;
  readonly #code: HTMLElement;
  readonly #language: string;
  #group: HTMLElement | undefined;
  #piece: Text | undefined;
  #lines = 0;

  constructor(info: string) {
    this.#language = (/^[^\s{,]*/.exec(info)?.[0] ?? '').slice(0, 40);
    this.box = document.createElement('div');
    this.box.className = 'code';
    const bar = document.createElement('div');
    bar.className = 'code-bar';
    const label = document.createElement('span');
    label.className = 'code-language';
    label.textContent = this.#language || t('text');
    bar.append(label, button('copy', t('Copy')), button('wrap', t('Wrap long lines')), button('insert', t('Insert at cursor')));
    const pre = document.createElement('pre');
    pre.tabIndex = 0;
    pre.dir = 'ltr';
    this.#code = document.createElement('code');
    pre.append(this.#code);
    this.box.append(bar, pre);
  }

  append(text: string): void {
    let from = 0;
    while (from < text.length) {
      let to = from;
      if (!this.#piece || this.#lines >= LINES) this.#begin();
      while (this.#lines < LINES) {
        const end = text.indexOf('\n', to);
        if (end < 0) {
          to = text.length;
          break;
        }
        to = end + 1;
        this.#lines += 1;
      }
      this.#piece?.appendData(from === 0 && to === text.length ? text : text.slice(from, to));
      from = to;
    }
  }

  /** Marks the text complete: it may be coloured, or drawn. */
  finish(): void {
    if (this.#language.toLowerCase() === 'mermaid') this.#draw();
    const language = this.#language.toLowerCase();
    if (language === 'diff' || language === 'patch') markChanges(this.#code);
    else if (language) highlightLater(this.#code, this.#code.textContent ?? '', language);
  }

  /** Shows the diagram in place of its text, which a button brings back. */
  #draw(): void {
    const place = document.createElement('div');
    place.className = 'diagram';
    place.tabIndex = 0;
    // An image with a name, not a button: a button would have to be named after all words of the drawing.
    place.setAttribute('role', 'img');
    place.setAttribute('aria-label', t('Diagram'));
    place.addEventListener('click', () => enlarge(place));
    place.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      enlarge(place);
    });
    const drawn = async (): Promise<void> => {
      this.box.append(place);
      if (!(await drawDiagram(this.#code.textContent ?? '', place))) return place.remove();
      this.box.classList.add('drawn');
      this.box.querySelector('.code-bar')?.append(button('source', t('Show text or diagram')));
    };
    // The box is added to the page after it is finished.
    requestAnimationFrame(() => void drawn());
    followTheme();
  }

  #begin(): void {
    if (!this.#group || this.#group.childElementCount >= PIECES) this.#group = contained(this.#code);
    this.#piece = document.createTextNode('');
    this.#lines = 0;
    contained(this.#group).append(this.#piece);
  }
}

function contained(parent: HTMLElement): HTMLElement {
  const piece = document.createElement('div');
  piece.className = 'code-piece';
  parent.append(piece);
  return piece;
}

/** Gives added and removed lines the colours of the editor's own diff, whatever the theme has for the language. */
function markChanges(code: HTMLElement): void {
  const lines = (code.textContent ?? '').split('\n');
  const drawn = lines.flatMap((line, at) => {
    const end = at + 1 < lines.length ? ['\n'] : [];
    const look = /^\+(?!\+\+ )/.test(line) ? 'added-line' : /^-(?!-- )/.test(line) ? 'removed-line' : undefined;
    if (look === undefined) return [line, ...end];
    const marked = document.createElement('span');
    marked.className = look;
    marked.textContent = line;
    return [marked, ...end];
  });
  code.replaceChildren(...drawn);
}

function button(action: 'copy' | 'wrap' | 'insert' | 'source', label: string): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.className = 'icon-button';
  made.dataset.code = action;
  made.title = label;
  made.setAttribute('aria-label', label);
  made.append(icon(action === 'source' ? 'text' : action));
  return made;
}

/** The part of mermaid's API in use; mermaid puts itself on the page. */
interface Mermaid {
  initialize(config: object): void;
  render(id: string, text: string): Promise<{ readonly svg: string }>;
}
const page = globalThis as typeof globalThis & { readonly mermaid?: Mermaid };

/** Longest text drawn as a diagram, in UTF-16 units; longer ones stay code. */
const LONGEST = 20_000;
/** Serializes drawing: the library draws into the page while it measures. */
let last: Promise<void> = Promise.resolve();

/** Draws the diagram of a finished block into `place`. Returns false and adds nothing when the text is no diagram. */
function drawDiagram(text: string, place: HTMLElement): Promise<boolean> {
  const drawn = last.then(() => draw(text, place)).catch(() => false);
  last = drawn.then(() => undefined);
  return drawn;
}

async function draw(text: string, place: HTMLElement): Promise<boolean> {
  if (text.length > LONGEST || !place.isConnected) return false;
  await onDemand('mermaid');
  const nonce = document.querySelector<HTMLElement>('script[nonce]')?.nonce ?? '';
  const svg = await withStyles(nonce, () => svgOf(text));
  show(svg, place, nonce);
  return true;
}

/** The theme in which the diagrams on the page are drawn; undefined before the first. */
let drawnIn: string | undefined;

/** Draws all diagrams again when the editor changes its theme. */
function followTheme(): void {
  if (drawnIn !== undefined) return;
  drawnIn = themeNow();
  new MutationObserver(() => {
    if (drawnIn === themeNow()) return;
    drawnIn = themeNow();
    for (const place of document.querySelectorAll<HTMLElement>('.diagram'))
      void drawDiagram(place.closest('.code')?.querySelector('code')?.textContent ?? '', place);
  }).observe(document.body, { attributes: true, attributeFilter: ['class', 'data-vscode-theme-id'] });
}

function themeNow(): string {
  return `${document.body.dataset.vscodeThemeId ?? ''} ${isDark()}`;
}

let drawings = 0;
/** Height of a diagram's letters in its full size, in pixels. */
const LETTERS = 13;

/** Rejects when the text is not a diagram. mermaid itself removes links and scripts. */
async function svgOf(text: string): Promise<string> {
  const { mermaid } = page;
  if (!mermaid) throw new Error('mermaid did not load');
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    suppressErrorRendering: true,
    theme: 'base',
    themeVariables: diagramColours(),
    maxTextSize: LONGEST,
    maxEdges: 300,
    layout: 'dagre',
    htmlLabels: false,
    flowchart: { htmlLabels: false, useMaxWidth: true },
    fontFamily: 'inherit',
  });
  drawings += 1;
  return (await mermaid.render(`diagram${drawings}`, text)).svg;
}

/** The editor's colours in the names that mermaid knows; it derives the others from them. Boxes are flat. */
function diagramColours(): Readonly<Record<string, string | boolean>> {
  const colour = (names: readonly string[], otherwise: string) => themeColour(names) ?? otherwise;
  const [ground, ink] = isDark() ? ['#1f1f1f', '#cccccc'] : ['#ffffff', '#3b3b3b'];
  const background = colour(['editor-background'], ground);
  const text = colour(['editor-foreground', 'foreground'], ink);
  const box = colour(['editorWidget-background', 'editor-background'], ground);
  const line = colour(['contrastBorder', 'descriptionForeground', 'foreground'], ink);
  return {
    darkMode: isDark(),
    background,
    primaryColor: box,
    primaryTextColor: text,
    primaryBorderColor: line,
    secondaryColor: background,
    tertiaryColor: background,
    lineColor: line,
    textColor: text,
    titleColor: text,
    edgeLabelBackground: background,
    clusterBkg: background,
    noteBkgColor: background,
    noteTextColor: text,
    noteBorderColor: line,
    fontSize: `${LETTERS}px`,
    useGradient: false,
    dropShadow: 'none',
  };
}

/** The page's policy refuses inline styles: rules go into a sheet of a shadow tree, attributes into the object model. */
function show(svg: string, place: HTMLElement, nonce: string): void {
  const drawn = DOMPurify.sanitize(readable(svg, nonce), {
    USE_PROFILES: { svg: true, svgFilters: true },
    ADD_TAGS: ['style'],
    ADD_ATTR: ['data-style'],
    FORBID_TAGS: ['a', 'image', 'script', 'foreignObject'],
    FORBID_ATTR: ['href', 'xlink:href'],
    RETURN_DOM_FRAGMENT: true,
  });
  const sheets = [...drawn.querySelectorAll('style')].map((style) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(withoutAddresses(style.textContent ?? ''));
    style.remove();
    return sheet;
  });
  for (const element of drawn.querySelectorAll<SVGElement>('[data-style]')) {
    element.style.cssText = withoutAddresses(element.getAttribute('data-style') ?? '');
    element.removeAttribute('data-style');
  }
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
  const flat = new CSSStyleSheet();
  flat.replaceSync('* { filter: none !important; }');
  root.adoptedStyleSheets = [...sheets, flat];
  root.replaceChildren(drawn);
  size(place);
}

/** How small a diagram is made to fit: letters of 9 px. What is still too wide then scrolls. */
const LEAST_SCALE = 9 / LETTERS;

/** Enlarges a diagram that was made smaller, or makes it smaller again. */
function enlarge(place: HTMLElement): void {
  place.classList.toggle('large');
  size(place);
}

function isLarge(place: HTMLElement): boolean {
  return place.classList.contains('large');
}

function size(place: HTMLElement): void {
  const image = place.shadowRoot?.querySelector('svg');
  if (!image) return;
  // Mermaid sets the width at which letters have their full size.
  const full = Number.parseFloat(image.style.maxWidth);
  image.style.minWidth = Number.isNaN(full) ? '' : `${isLarge(place) ? full : Math.round(full * LEAST_SCALE)}px`;
}

/** The same markup in a form that the page's policy accepts without warnings. */
function readable(markup: string, nonce: string): string {
  return markup.replace(/ style="/g, ' data-style="').replace(/<style(?=[\s>])/g, `<style nonce="${nonce}"`);
}

/** Removes addresses, so that nothing is fetched. Sheets drop their imports themselves. */
function withoutAddresses(rules: string): string {
  return rules.replace(/url\((?!["']?#)[^)]*\)/gi, 'none');
}

/** Allows the styles created while `work` runs: elements get the page's nonce, attributes go through the object model. */
async function withStyles<T>(nonce: string, work: () => Promise<T>): Promise<T> {
  const { createElement, createElementNS } = document;
  const { setAttribute } = Element.prototype;
  const { parseFromString } = DOMParser.prototype;
  const marked = <E extends Element>(made: E): E => {
    if (made.localName === 'style') setAttribute.call(made, 'nonce', nonce);
    return made;
  };
  document.createElement = ((...args: Parameters<typeof createElement>) =>
    marked(createElement.apply(document, args))) as typeof createElement;
  document.createElementNS = ((...args: Parameters<typeof createElementNS>) =>
    marked(createElementNS.apply(document, args))) as typeof createElementNS;
  Element.prototype.setAttribute = function (name, value) {
    if (name === 'style' && 'style' in this) (this as SVGElement).style.cssText = value;
    else setAttribute.call(this, name, value);
  };
  DOMParser.prototype.parseFromString = function (text, type) {
    return parseFromString.call(this, readable(String(text), nonce), type);
  };
  try {
    return await work();
  } finally {
    document.createElement = createElement;
    document.createElementNS = createElementNS;
    Element.prototype.setAttribute = setAttribute;
    DOMParser.prototype.parseFromString = parseFromString;
  }
}
