import { loaded, onDemand } from './onDemand.ts';
import type { Styled } from './sgr.ts';
import { isDrawnNow } from './sight.ts';

/** Longest code that is coloured, in UTF-16 units. */
const LONGEST = 60_000;

interface Job {
  readonly code: HTMLElement;
  readonly text: string;
  readonly language: string;
}
const jobs: Job[] = [];

/** Colours a finished piece of code when it is in sight and the view is idle. Unknown languages stay plain. */
export function highlightLater(code: HTMLElement, text: string, language: string): void {
  if (text.length <= LONGEST) begin({ code, text, language });
}

function begin(job: Job): void {
  jobs.push(job);
  if (jobs.length > 1) return;
  void onDemand('highlight').then(
    () => whenIdle(work),
    () => void jobs.splice(0),
  );
}

/** Lines of a text styled for its language; undefined while the highlighter is not loaded, and for unknown languages. */
export function highlightedLines(text: string, language: string): readonly (readonly Styled[])[] | undefined {
  const html = text.length > LONGEST ? undefined : loaded('highlight')?.highlight(text, language);
  return html === undefined ? undefined : runsOf(html);
}

function work(deadline?: IdleDeadline): void {
  do {
    const job = jobs.shift();
    if (job?.code.isConnected && isDrawnNow(job.code, () => begin(job))) colour(job);
  } while (jobs.length > 0 && deadline && deadline.timeRemaining() > 4);
  if (jobs.length > 0) whenIdle(work);
}

function colour(job: Job): void {
  const html = loaded('highlight')?.highlight(job.text, job.language);
  if (html === undefined) return;
  const holder = document.createElement('template');
  holder.innerHTML = html;
  job.code.replaceChildren(holder.content);
}

function whenIdle(run: (deadline?: IdleDeadline) => void): void {
  if (typeof requestIdleCallback === 'function') requestIdleCallback(run, { timeout: 1000 });
  else setTimeout(run, 0);
}

/** Parses the highlighter's output, which is only spans with a class and text with five entities. The innermost span gives the look. */
function runsOf(html: string): readonly (readonly Styled[])[] {
  const lines: Styled[][] = [[]];
  const looks: string[] = [];
  for (const [, opened, closed, text] of html.matchAll(/<span class="([^"]*)">|(<\/span>)|([^<]+)/g)) {
    if (opened !== undefined) looks.push(opened);
    else if (closed !== undefined) looks.pop();
    else
      for (const [at, piece] of unescaped(text ?? '')
        .split('\n')
        .entries()) {
        if (at > 0) lines.push([]);
        if (piece !== '') lines.at(-1)?.push({ text: piece, look: looks.at(-1) ?? '' });
      }
  }
  return lines;
}

function unescaped(text: string): string {
  return text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#x27;/g, "'")
    .replace(/&amp;/g, '&');
}
