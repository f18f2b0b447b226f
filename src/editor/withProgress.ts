import * as vscode from 'vscode';

/** Milliseconds after which it is shown that something takes a while. */
const PATIENCE = 1000;

/** Does it; when it takes a while that is shown, and can be cancelled. Gives undefined when the user did. */
export async function withProgress<T>(
  title: string,
  run: (signal: AbortSignal) => Promise<T>,
  patience = PATIENCE,
): Promise<T | undefined> {
  const stop = new AbortController();
  const cancelled = new Promise<undefined>((resolve) => stop.signal.addEventListener('abort', () => resolve(undefined), { once: true }));
  // What it says after it was cancelled is nobody's concern.
  const done = Promise.race([run(stop.signal), cancelled]);
  const over = done.then(
    () => {},
    () => {},
  );
  const timer = setTimeout(() => {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    void vscode.window.withProgress(options, (_, token) => {
      token.onCancellationRequested(() => stop.abort());
      return over;
    });
  }, patience);
  try {
    return await done;
  } catch (error) {
    if (stop.signal.aborted) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
