import { drawDiagram } from './diagram.ts';
import { highlightLater } from './highlighter.ts';
import { icon } from './icons.ts';
import { t } from './strings.ts';

/** Lines in one contained piece: the browser lays out the last piece only, however long the code is. */
const LINES = 100;

/** A block of code that grows at its end. Its text only ever gets longer. */
export class CodeBlock {
  readonly box: HTMLElement;
  readonly #code: HTMLElement;
  readonly #language: string;
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

  /** No more text comes: it may be coloured, or drawn. */
  finish(): void {
    if (this.#language.toLowerCase() === 'mermaid') this.#draw();
    if (this.#language) highlightLater(this.#code, this.#code.textContent ?? '', this.#language.toLowerCase());
  }

  /** The diagram stands in front of its text, which a button brings back. */
  #draw(): void {
    const place = document.createElement('div');
    place.className = 'diagram';
    place.setAttribute('role', 'img');
    place.setAttribute('aria-label', t('Diagram'));
    const drawn = async (): Promise<void> => {
      this.box.append(place);
      if (!(await drawDiagram(this.#code.textContent ?? '', place))) return place.remove();
      this.box.classList.add('drawn');
      this.box.querySelector('.code-bar')?.append(button('source', t('Show text or diagram')));
    };
    // The box is put on the page after it is finished.
    requestAnimationFrame(() => void drawn());
  }

  #begin(): void {
    const piece = document.createElement('div');
    piece.className = 'code-piece';
    this.#piece = document.createTextNode('');
    this.#lines = 0;
    piece.append(this.#piece);
    this.#code.append(piece);
  }
}

function button(action: 'copy' | 'wrap' | 'insert' | 'source', label: string): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.className = 'icon-button';
  made.dataset.code = action;
  made.title = label;
  made.setAttribute('aria-label', label);
  made.append(icon(action === 'source' ? 'diff' : action));
  return made;
}
