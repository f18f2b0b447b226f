import { html, nothing, type TemplateResult } from 'lit/html.js';
import { isUnfolded, type View } from '../view.ts';

export interface FoldOptions {
  /** Identifies the same thing across reloads. */
  readonly key: string;
  readonly summary: unknown;
  readonly body: () => unknown;
  /** Open until the user changes it. */
  readonly open?: boolean;
  readonly look?: string;
}

/** A foldable section. Its body does not exist while it is closed. */
export function fold(view: View, { key, summary, body, open: usually = false, look = '' }: FoldOptions): TemplateResult {
  const open = isUnfolded(view.memory, key, usually);
  const toggled = (event: Event) => {
    const now = (event.currentTarget as HTMLDetailsElement).open;
    if (now !== open) view.act.unfold(key, now);
  };
  return html`<details class="fold ${look}" ?open=${open} @toggle=${toggled}>
    <summary>${summary}</summary>
    ${open ? html`<div class="fold-body">${body()}</div>` : nothing}
  </details>`;
}
