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
