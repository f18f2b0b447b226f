import type { CodeLook, ColouredCode } from '../src/bridge/contract.ts';
import type { HostConnection } from './host.ts';
import { isDrawnNow } from './sight.ts';
import type { Styled } from './terminalOutput.ts';

/** Longest code that is coloured, in UTF-16 units. */
const LONGEST = 60_000;
/** Pieces of code whose colours are kept. */
const KEPT = 300;

/** The host's answers in the present theme by language and text; a promise while one is on its way. */
let known = new Map<string, ColouredCode | null | Promise<ColouredCode | null>>();
let host: Pick<HostConnection, 'call'> | undefined;
let theme = '';
let changes = 0;
let follow: MutationObserver | undefined;

interface Job {
  readonly code: HTMLElement;
  readonly text: string;
  readonly language: string;
}
let jobs: Job[] = [];

/** Lets the host colour code by the active theme, from now on. `changed` runs when colours have changed: what is drawn has the old ones. */
export function colourBy(asked: Pick<HostConnection, 'call'>, changed: () => void): void {
  const { body } = document;
  host = asked;
  known = new Map();
  // The editor puts the id of its theme on the body of every webview.
  theme = body.dataset.vscodeThemeId ?? '';
  follow?.disconnect();
  follow = new MutationObserver(() => {
    changes += 1;
    const before = theme;
    theme = body.dataset.vscodeThemeId ?? '';
    known = new Map();
    const codes = [...document.querySelectorAll<HTMLElement>('code[data-language]')];
    colourAgain(
      before,
      codes.filter((code) => isDrawnNow(code, () => colourAgain(before, [code]))),
    );
    changed();
  });
  follow.observe(body, { attributes: true, attributeFilter: ['data-vscode-theme-id'] });
  // The user's own colours, of the editor and of code, change without another theme; the editor then writes all of its colours there.
  follow.observe(document.documentElement, { attributes: true, attributeFilter: ['style'] });
}

/** A number that is another one after each change of colours. */
export function themeChanges(): number {
  return changes;
}

/** Colours a finished piece of code when it is in sight and the view is idle. Unknown languages stay plain. */
export function highlightLater(code: HTMLElement, text: string, language: string): void {
  if (text.length > LONGEST) return;
  code.dataset.language = language;
  jobs.push({ code, text, language });
  if (jobs.length === 1) whenIdle(work);
}

/** Lines of a text in colours: at once when they are known, as a promise when the host is asked; undefined for what stays plain. */
export function highlightedLines(
  text: string,
  language: string,
): readonly (readonly Styled[])[] | Promise<readonly (readonly Styled[])[] | undefined> | undefined {
  const found = coloured(text, language);
  if (found instanceof Promise) return found.then((code) => (code ? runsOf(text, code) : undefined));
  return found ? runsOf(text, found) : undefined;
}

/** Colours code again, without a rest. In another theme it is plain until then: colours for a dark ground are unreadable on a light one. */
function colourAgain(before: string, codes: readonly HTMLElement[]): void {
  for (const code of codes) {
    const text = code.textContent ?? '';
    if (before !== theme && code.querySelector('span')) code.replaceChildren(text);
    void colour({ code, text, language: code.dataset.language ?? '' });
  }
}

function coloured(text: string, language: string): ColouredCode | null | Promise<ColouredCode | null> {
  if (!host || language === '' || text.length > LONGEST) return null;
  const key = `${language}\n${text}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const table = known;
  const asked = host
    .call('colourCode', { text, language, theme })
    .catch(() => null)
    .then((code) => {
      table.set(key, code);
      return code;
    });
  table.set(key, asked);
  for (const oldest of table.keys()) {
    if (table.size <= KEPT) break;
    table.delete(oldest);
  }
  return asked;
}

function work(): void {
  const now = jobs;
  jobs = [];
  for (const job of now)
    if (job.code.isConnected && isDrawnNow(job.code, () => highlightLater(job.code, job.text, job.language))) void colour(job);
}

async function colour({ code, text, language }: Job): Promise<void> {
  const from = known;
  const found = await coloured(text, language);
  // Text or colours may have changed meanwhile.
  if (!found || from !== known || code.textContent !== text) return;
  const drawn = document.createDocumentFragment();
  for (const [at, line] of runsOf(text, found).entries()) {
    if (at > 0) drawn.append('\n');
    for (const { text: piece, css = '' } of line) {
      if (css === '') {
        drawn.append(piece);
        continue;
      }
      const span = document.createElement('span');
      span.style.cssText = css;
      span.textContent = piece;
      drawn.append(span);
    }
  }
  code.replaceChildren(drawn);
}

function whenIdle(run: () => void): void {
  if (typeof requestIdleCallback === 'function') requestIdleCallback(run, { timeout: 1000 });
  else setTimeout(run, 0);
}

/** The runs of a text. The host's numbers only cut it: all of the text is in them. */
function runsOf(text: string, { looks, lines }: ColouredCode): readonly (readonly Styled[])[] {
  const styles = looks.map(cssOf);
  return text.split('\n').map((line, at) => {
    const runs: Styled[] = [];
    const numbers = lines[at] ?? [];
    let from = 0;
    for (let next = 0; next + 1 < numbers.length && from < line.length; next += 2) {
      const to = from + (numbers[next] ?? 0);
      if (to > from) runs.push({ text: line.slice(from, to), look: '', css: styles[numbers[next + 1] ?? 0] ?? '' });
      from = to;
    }
    if (from < line.length) runs.push({ text: line.slice(from), look: '' });
    return runs;
  });
}

function cssOf({ colour, font = 0 }: CodeLook): string {
  return [
    colour === undefined ? '' : `color: ${colour}`,
    font & 1 ? 'font-style: italic' : '',
    font & 2 ? 'font-weight: bold' : '',
    font & 4 ? 'text-decoration: underline' : font & 8 ? 'text-decoration: line-through' : '',
  ]
    .filter(Boolean)
    .join('; ');
}
