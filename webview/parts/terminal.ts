import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Terminal } from '../../src/session/model.ts';
import { shortened } from '../../src/session/visible.ts';
import { iconOf } from '../icons.ts';
import { t, visible } from '../strings.ts';
import { terminalCss } from '../terminalColours.ts';
import { type OutputRun, plainOutput, printedLines } from '../terminalOutput.ts';
import { isUnfolded, type View } from '../view.ts';
import { moreText, plainText } from './fold.ts';

/** Characters that are read for the end of an output; of what precedes them, the lines are not counted. */
const TAIL = 4000;
/** Characters of a command over its output. */
const IN_BOX = 1000;
/** Lines of an output or a change that a row shows at first. */
export const LINES = 15;

/** An agent's terminal: the end of its output and how it ended; its command where nothing around it names it. */
export function terminalView(view: View, key: string, terminal: Terminal | undefined, named?: string): TemplateResult {
  if (!terminal) return html`<p class="faint">${t('{0} does not exist.', t('Terminal'))}</p>`;
  const whole = isUnfolded(view.memory, `${key}:whole`, false);
  const lines = withoutEmptyEnd(printedLines(whole ? terminal.tail : terminal.tail.slice(-TAIL)));
  const cut = terminal.tail.length > TAIL || lines.length > LINES;
  const shown = whole ? lines : lines.slice(-LINES);
  const end = exitText(terminal, named);
  const stops = terminal.stops === true && !terminal.exit;
  return html`<div class="box terminal">
    ${named === terminal.command || terminal.command === '' ? nothing : html`<div class="terminal-command" dir="ltr"><code>${visible(shortened(terminal.command, IN_BOX))}</code></div>`}
    ${
      cut || terminal.dropped > 0
        ? html`<button class="more" type="button" ?disabled=${!cut} aria-expanded=${String(whole)} @click=${() => view.act.unfold(`${key}:whole`, !whole)}>
            ${iconOf(whole ? 'down' : 'chevron')}${whole ? (terminal.dropped > 0 ? t('Earlier output was dropped.') : t('Show less')) : moreText(terminal.tail.length > TAIL ? 0 : lines.length - shown.length)}
          </button>`
        : nothing
    }
    ${shown.length === 0 ? nothing : html`<pre class="plain terminal-output" tabindex="0" dir="ltr">${shown.map(lineView)}</pre>`}
    ${
      end === '' && !stops
        ? nothing
        : html`<div class="terminal-end"><span class="small terminal-words">${end}</span>${stops ? stopCommandView(view, terminal) : nothing}</div>`
    }
  </div>`;
}

function stopCommandView(view: View, { id }: Terminal): TemplateResult {
  return html`<button class="icon-button" type="button" title=${t('Stop')} aria-label=${t('Stop')}
    @click=${() => view.act.intent({ type: 'stopTerminal', terminalId: id })}>${iconOf('stop')}</button>`;
}

/** Says how the command ended, unless the row of its call does. */
function exitText({ exit }: Terminal, named: string | undefined): string {
  if (!exit) return named === undefined ? t('Running') : '';
  if (named !== undefined) return '';
  if (exit.stopped) return t('Stopped');
  if (exit.signal !== null) return t('killed ({0})', exit.signal);
  return exit.code === null ? t('Ended') : t('exit {0}', exit.code);
}

function withoutEmptyEnd(lines: readonly (readonly OutputRun[])[]): readonly (readonly OutputRun[])[] {
  return lines.slice(0, lines.findLastIndex((line) => line.length > 0) + 1);
}

function lineView(line: readonly OutputRun[], at: number): unknown {
  const runs = line.map((run) => {
    const css = terminalCss(run);
    if (css === '' && run.marks.length === 0) return run.text;
    // As a property: the page's policy refuses styles as attributes.
    return html`<span class=${run.marks.join(' ') || nothing} .style=${css}>${run.text}</span>`;
  });
  return at === 0 ? runs : ['\n', ...runs];
}

/** A text as a terminal would leave it, without colours. */
export function textOf(view: View, key: string, text: string): TemplateResult {
  return plainText(view, key, plainOutput(text));
}
