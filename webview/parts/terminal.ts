import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Terminal } from '../../src/session/model.ts';
import { visibleText } from '../../src/session/visible.ts';
import { iconOf } from '../icons.ts';
import { type Styled, styledLines } from '../sgr.ts';
import { t } from '../strings.ts';
import { isUnfolded, type View } from '../view.ts';
import { visible } from '../visible.ts';

const TAIL = 4000;
const LINES = 15;

/** A terminal the agent runs: its command, the end of its output, how it ended. */
export function terminalView(view: View, key: string, terminal: Terminal | undefined): TemplateResult {
  if (!terminal) return html`<p class="faint">${t('The terminal is gone.')}</p>`;
  const whole = isUnfolded(view.memory, `${key}:whole`, false);
  const lines = withoutEmptyEnd(styledLines(whole ? terminal.tail : terminal.tail.slice(-TAIL)));
  const cut = terminal.tail.length > TAIL || lines.length > LINES;
  const shown = whole ? lines : lines.slice(-LINES);
  return html`<div class="terminal">
    ${terminal.command === '' ? nothing : html`<div class="terminal-command" dir="ltr">${iconOf('execute')}<code>${visible(terminal.command)}</code></div>`}
    ${
      cut || terminal.dropped > 0
        ? html`<div class="faint terminal-more">
            ${terminal.dropped > 0 && whole ? t('Earlier output was dropped.') : nothing}
            ${cut ? html`<button class="text-button" type="button" @click=${() => view.act.unfold(`${key}:whole`, !whole)}>${whole ? t('Show the end only') : t('Show all output')}</button>` : nothing}
          </div>`
        : nothing
    }
    ${shown.length === 0 ? nothing : html`<pre class="plain terminal-output" tabindex="0" dir="ltr">${shown.map(lineView)}</pre>`}
    <div class="faint terminal-end">
      <span>${exitText(terminal)}</span>
      ${terminal.stops && !terminal.exit ? stopView(view, terminal) : nothing}
      <button class="icon-button" type="button" title=${t('Open in the terminal panel')} aria-label=${t('Open in the terminal panel')}
        @click=${() => view.act.openTerminal(terminal.id)}>${iconOf('open')}</button>
    </div>
  </div>`;
}

function stopView(view: View, { id, command }: Terminal): TemplateResult {
  return html`<button class="icon-button" type="button" title=${t('Stop this command')} aria-label=${t('Stop this command: {0}', visibleText(command))}
    @click=${() => view.act.intent({ type: 'stopTerminal', terminalId: id })}>${iconOf('stop')}</button>`;
}

function exitText({ exit }: Terminal): string {
  if (!exit) return t('Running…');
  if (exit.stopped) return t('Stopped');
  if (exit.signal !== null) return t('Ended by {0}', exit.signal);
  return exit.code === null ? t('Ended') : t('Exit code {0}', exit.code);
}

function withoutEmptyEnd(lines: readonly (readonly Styled[])[]): readonly (readonly Styled[])[] {
  return lines.slice(0, lines.findLastIndex((line) => line.length > 0) + 1);
}

function lineView(line: readonly Styled[], at: number): unknown {
  const runs = line.map(({ text, look }) => (look === '' ? text : html`<span class=${look}>${text}</span>`));
  return at === 0 ? runs : ['\n', ...runs];
}
