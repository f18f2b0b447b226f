import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Diff, Output, ToolCall } from '../../src/session/model.ts';
import { isSettled } from '../../src/session/parts.ts';
import { byPath, type ChangedFile, callTitle, diffsOf, findTerminal, relativePath } from '../../src/session/select.ts';
import { visibleText } from '../../src/session/visible.ts';
import { plainOutput } from '../ansi.ts';
import { type IconName, iconOf } from '../icons.ts';
import { t } from '../strings.ts';
import { isUnfolded, type View } from '../view.ts';
import { visible } from '../visible.ts';
import { contentView, pretty } from './content.ts';
import { diffCard } from './diffCard.ts';
import { faultView } from './fault.ts';
import { fold } from './fold.ts';
import { drawnOf, moreOf } from './many.ts';
import { plainText } from './plainText.ts';
import { terminalView } from './terminal.ts';

/** A tool call. `inside` draws what a sub-agent did under it; `steps` says how many things that are. */
export function callView(view: View, turnId: string, call: ToolCall, steps: number, inside: () => unknown): TemplateResult {
  const key = `${turnId}/${call.id}`;
  const empty = steps === 0 && call.output.length === 0 && call.inputText === '' && call.input === undefined && !call.error;
  const open = !empty && isUnfolded(view.memory, key, usuallyOpen(view, call, steps));
  const { cwd } = view.session;
  const title = callTitle(call, cwd);
  const place = call.locations.find((one) => one.path !== cwd);
  const status = runsOn(view, call) ? 'running' : call.status;
  return html`<div class="call call-${status}" role="group" aria-label=${t('Tool call: {0}', title)}>
    <div class="call-head">
      <button class="call-toggle" type="button" ?disabled=${empty} aria-expanded=${empty ? nothing : String(open)}
        @click=${() => view.act.unfold(key, !open)}>
        ${iconOf(call.kind)}<bdi class="call-title">${visible(title)}</bdi>
        ${steps > 0 ? html`<span class="faint">${steps === 1 ? t('1 step') : t('{0} steps', steps)}</span>` : nothing}
      </button>
      ${
        place
          ? html`<button class="icon-button" type="button" title=${openLabel(place.path, place.line, view)} aria-label=${openLabel(place.path, place.line, view)}
              @click=${() => view.act.open(place.path, place.line)}>${iconOf('open')}</button>`
          : nothing
      }
      ${call.stops && !isSettled(call) ? stopView(view, call.id, title) : nothing} ${statusView(status)}
    </div>
    ${
      open
        ? html`<div class="call-body">
            ${call.error ? faultView(view, key, call.error) : nothing} ${inputView(view, key, call)}
            ${steps > 0 ? html`<div class="inside">${inside()}</div>` : nothing}
            ${outputsView(view, turnId, key, call)} ${places(view, call)}
          </div>`
        : nothing
    }
  </div>`;
}

function stopView(view: View, callId: string, title: string): TemplateResult {
  return html`<button class="icon-button" type="button" title=${t('Stop only this')} aria-label=${t('Stop only this: {0}', visibleText(title))}
    @click=${() => view.act.intent({ type: 'stopCall', callId })}>${iconOf('stop')}</button>`;
}

function openLabel(path: string, line: number | undefined, view: View): string {
  return t('Open {0}', visibleText(relativePath(path, view.session.cwd)) + (line === undefined ? '' : `:${line}`));
}

/** What the user is likely to want to see: changes, work under way, what went wrong. What waits is shown whole in the question, if there is one. */
function usuallyOpen(view: View, call: ToolCall, steps: number): boolean {
  if (call.status === 'waiting' && !view.session.asks.some((ask) => ask.callId === call.id)) return call.output.length > 0;
  if (call.status === 'waiting' || call.status === 'rejected') return false;
  if (call.error || call.output.some((output) => output.kind === 'diff')) return true;
  // A call without an input is there only for what it shows.
  if (call.input === undefined && call.inputText === '' && call.output.some((output) => output.kind === 'terminal')) return true;
  return (
    !isSettled(call) &&
    (steps > 0 || (call.kind === 'execute' ? call.output.length > 0 : call.output.some((output) => output.kind === 'terminal')))
  );
}

const STATUS: Readonly<Record<ToolCall['status'], IconName | undefined>> = {
  pending: undefined,
  running: undefined,
  waiting: 'hand',
  done: 'check',
  ended: 'more',
  failed: 'error',
  rejected: 'blocked',
  cancelled: 'stop',
};

/** The call is over for the agent, but the command it shows is not. */
function runsOn(view: View, call: ToolCall): boolean {
  if (call.status !== 'done' && call.status !== 'ended') return false;
  const commands = call.output.flatMap((output) => (output.kind === 'terminal' ? [findTerminal(view.session, output.terminalId)] : []));
  // Only of those that can be stopped is it certain that their end is heard of.
  return commands.some((terminal) => terminal?.stops && !terminal.exit);
}

function statusView(status: ToolCall['status']): TemplateResult {
  const icon = STATUS[status];
  const text = statusText(status);
  const wordy = status === 'rejected' || status === 'cancelled' || status === 'failed';
  return html`<span class="call-status" title=${text}>
    ${icon ? iconOf(icon) : html`<span class="spinner" aria-hidden="true"></span>`}<span class=${wordy ? '' : 'sr-only'}>${text}</span>
  </span>`;
}

function statusText(status: ToolCall['status']): string {
  switch (status) {
    case 'pending':
      return t('Pending');
    case 'waiting':
      return t('Waiting for you');
    case 'running':
      return t('Running');
    case 'done':
      return t('Done');
    case 'ended':
      return t('Ended: the agent did not say how');
    case 'failed':
      return t('Failed');
    case 'rejected':
      return t('Rejected');
    case 'cancelled':
      return t('Cancelled');
  }
}

function inputView(view: View, key: string, call: ToolCall): TemplateResult | typeof nothing {
  if (call.inputText === '' && call.input === undefined) return nothing;
  return fold(view, {
    key: `${key}:input`,
    summary: t('Input'),
    body: () => plainText(view, `${key}:inputText`, visibleText(call.input === undefined ? call.inputText : pretty(call.input))),
  });
}

/** All a call does to a file stands where it does it first. */
function outputsView(view: View, turnId: string, key: string, call: ToolCall): TemplateResult {
  const files = byPath(diffsOf(call));
  const begun = new Map(files.slice(0, drawnOf(view, key)).map((file) => [file.diffs[0], file]));
  return html`${call.output.map((output, index) => outputView(view, turnId, `${key}/${index}`, call, output, begun))}
    ${moreOf(view, key, files.length, (left) => t('{0} more files', left))}`;
}

function outputView(
  view: View,
  turnId: string,
  key: string,
  call: ToolCall,
  output: Output,
  begun: ReadonlyMap<Diff | undefined, ChangedFile>,
): TemplateResult | typeof nothing {
  switch (output.kind) {
    case 'content': {
      const { content } = output;
      if (content.type === 'text' && !/^(?:```|~~~)/m.test(content.text)) return plainText(view, key, plainOutput(content.text));
      return contentView(view, key, content, isSettled(call));
    }
    case 'diff':
      return diffView(view, turnId, key, begun.get(output.diff));
    case 'terminal':
      return terminalView(view, key, findTerminal(view.session, output.terminalId));
    case 'json':
      return plainText(view, key, visibleText(pretty(output.value)));
  }
}

function diffView(view: View, turnId: string, key: string, file: ChangedFile | undefined): TemplateResult | typeof nothing {
  if (!file) return nothing;
  return diffCard(view, key, file, () => view.act.review({ turnId, path: file.path }));
}

function places(view: View, call: ToolCall): TemplateResult | typeof nothing {
  if (call.locations.length < 2) return nothing;
  return html`<div class="chips">
    ${call.locations.slice(0, 20).map(
      ({ path, line }) =>
        html`<button class="chip" type="button" @click=${() => view.act.open(path, line)}>
          ${iconOf('file')}<bdi class="chip-text">${visible(relativePath(path, view.session.cwd))}${line === undefined ? '' : `:${line}`}</bdi>
        </button>`,
    )}
  </div>`;
}
