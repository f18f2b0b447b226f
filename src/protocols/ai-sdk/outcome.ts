import { t } from '../../base/l10n.ts';
import type { Assembly } from './assembly.ts';
import type { StreamEnd } from './chunkStream.ts';
import { olderProtocol } from './exchange.ts';

/** How a response ended (ai-sdk.md §5.4). `said`: the server said so itself. */
export type Outcome =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'aborted'; readonly reason: string | undefined }
  | { readonly kind: 'cut' }
  | { readonly kind: 'over'; readonly reason: string | undefined; readonly said: boolean };

/** Servers hide what went wrong behind this by default. */
const MASKED = 'An error occurred.';
/** How one family of servers ends a response that waits for a result in a new message. */
const FRONTEND_TOOL = '__FRONTEND_TOOL__';

export function outcomeOf(assembly: Assembly, end: StreamEnd, stopped: boolean, resultsAsMessages: boolean): Outcome {
  if (stopped) return { kind: 'stopped' };
  if (end.foreign) return { kind: 'failed', message: olderProtocol() };
  const errors = resultsAsMessages ? assembly.errors.filter((text) => !text.includes(FRONTEND_TOOL)) : assembly.errors;
  const [error] = errors;
  if (error !== undefined) {
    const text = error.trim();
    return { kind: 'failed', message: text === '' || text === MASKED ? t('The server reported an error without details.') : text };
  }
  if (assembly.aborted) return { kind: 'aborted', reason: assembly.aborted.reason };
  const said = end.done || assembly.finished || errors.length < assembly.errors.length;
  if (end.cut && !said) return { kind: 'cut' };
  return { kind: 'over', reason: assembly.finishReason, said };
}
