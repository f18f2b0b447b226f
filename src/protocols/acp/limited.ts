import { t } from '../../base/l10n.ts';

/** How long an agent may take to answer what is no work. Milliseconds. */
export const ANSWER_LIMIT = 30_000;

/** What the agent answers; rejects with a sentence when that takes too long, or as soon as one of the signals fires. The request is given up then. */
export function limited<T>(run: (signal: AbortSignal) => Promise<T>, ...signals: readonly AbortSignal[]): Promise<T> {
  const late = new AbortController();
  const signal = AbortSignal.any([late.signal, ...signals]);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => late.abort(), ANSWER_LIMIT);
    const stop = () => {
      const text = late.signal.aborted ? t('The agent did not answer within {0} s.', ANSWER_LIMIT / 1000) : t('Cancelled.');
      reject(new Error(text));
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    run(signal)
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
      });
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
}
