import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Terminal } from '../../src/session/model.ts';
import { iconOf } from '../icons.ts';
import { type Styled, styledLines } from '../sgr.ts';
import { t } from '../strings.ts';
import { isUnfolded, type View } from '../view.ts';
import { visible } from '../visible.ts';

const TAIL = 4000;
const LINES = 15;

/** A terminal the agent runs: the end of its output and how it ended; its command where nothing around it names it. */
export function terminalView(view: View, key: string, terminal: Terminal | undefined, named?: string): TemplateResult {
  if (!terminal) return html`<p class="faint">${t('The terminal is gone.')}</p>`;
  const whole = isUnfolded(view.memory, `${key}:whole`, false);
  const lines = withoutEmptyEnd(styledLines(whole ? terminal.tail : terminal.tail.slice(-TAIL)));
  const cut = terminal.tail.length > TAIL || lines.length > LINES;
  const shown = whole ? lines : lines.slice(-LINES);
  const end = exitText(terminal, named);
  const stops = terminal.stops === true && !terminal.exit;
  return html`<div class="box terminal">
    ${named === terminal.command || terminal.command === '' ? nothing : html`<div class="terminal-command" dir="ltr"><code>${visible(terminal.command)}</code></div>`}
    ${
      cut || terminal.dropped > 0
        ? html`<button class="more" type="button" ?disabled=${!cut} aria-expanded=${String(whole)} @click=${() => view.act.unfold(`${key}:whole`, !whole)}>
            ${iconOf(whole ? 'down' : 'chevron')}${whole ? (terminal.dropped > 0 ? t('Earlier output was dropped.') : t('Show less')) : earlierText(lines.length - shown.length)}
          </button>`
        : nothing
    }
    ${shown.length === 0 ? nothing : html`<pre class="plain terminal-output" tabindex="0" dir="ltr">${shown.map(lineView)}</pre>`}
    ${
      end === '' && !stops
        ? nothing
        : html`<div class="terminal-end"><span class="small terminal-words">${end}</span>${stops ? stopView(view, terminal) : nothing}</div>`
    }
  </div>`;
}

function earlierText(lines: number): string {
  if (lines < 1) return t('Show all output');
  return lines === 1 ? t('1 earlier line') : t('{0} earlier lines', lines);
}

function stopView(view: View, { id }: Terminal): TemplateResult {
  return html`<button class="icon-button" type="button" title=${t('Stop this command')} aria-label=${t('Stop this command')}
    @click=${() => view.act.intent({ type: 'stopTerminal', terminalId: id })}>${iconOf('stop')}</button>`;
}

/** The row of a call that names the command tells how it ended. */
function exitText({ exit }: Terminal, named: string | undefined): string {
  if (!exit) return named === undefined ? t('Running') : '';
  if (named !== undefined) return '';
  if (exit.stopped) return t('Stopped');
  if (exit.signal !== null) return t('ended by {0}', exit.signal);
  return exit.code === null ? t('Ended') : t('exit {0}', exit.code);
}

function withoutEmptyEnd(lines: readonly (readonly Styled[])[]): readonly (readonly Styled[])[] {
  return lines.slice(0, lines.findLastIndex((line) => line.length > 0) + 1);
}

function lineView(line: readonly Styled[], at: number): unknown {
  const runs = line.map(({ text, look }) => (look === '' ? text : html`<span class=${look}>${text}</span>`));
  return at === 0 ? runs : ['\n', ...runs];
}
