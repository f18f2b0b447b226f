import { AsyncDirective, directive } from 'lit/async-directive.js';
import type { ElementPart, PartInfo } from 'lit/directive.js';
import { PartType } from 'lit/directive.js';
import { html, noChange, type TemplateResult } from 'lit/html.js';
import { MarkdownView } from '../markdownView.ts';

class Markdown extends AsyncDirective {
  #view: MarkdownView | undefined;

  constructor(info: PartInfo) {
    super(info);
    if (info.type !== PartType.ELEMENT) throw new Error('markdown() belongs on an element');
  }

  override update(part: ElementPart, [text, done, added]: [text: string, done: boolean, added?: string]): typeof noChange {
    this.#view ??= new MarkdownView(part.element as HTMLElement);
    this.#view.show(text, done, added);
    return noChange;
  }

  render(_text: string, _done: boolean, _added?: string): typeof noChange {
    return noChange;
  }

  protected override disconnected(): void {
    this.#view?.stop();
  }
}

/** Draws markdown into its element and owns the element's content. */
const markdown = directive(Markdown);

/** Markdown from an agent; `done` once it is complete, `added` is the new text at its end where known. */
export function textView(text: string, done: boolean, added?: string): TemplateResult {
  return html`<div class="markdown" dir="auto" ${markdown(text, done, added)}></div>`;
}
