import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Terminal } from '../../src/session/model.ts';
import { shortened } from '../../src/session/visible.ts';
import { iconOf } from '../icons.ts';
import { t, visible } from '../strings.ts';
import { type Colour, type Look, type OutputRun, plainOutput, printedLines } from '../terminalOutput.ts';
import { isDark, themeColour } from '../theme.ts';
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

type Rgb = readonly [red: number, green: number, blue: number];

/** Least contrast of a text with its ground, the default of the setting `terminal.integrated.minimumContrastRatio`. */
const LEAST_CONTRAST = 4.5;
/** How much of its colour dim text keeps; the rest is its ground. */
const DIM = 0.7;

const NAMES = ['Black', 'Red', 'Green', 'Yellow', 'Blue', 'Magenta', 'Cyan', 'White'];
const PALETTE = [...NAMES, ...NAMES.map((name) => `Bright${name}`)].map((name) => `terminal-ansi${name}`);
const WORDS = ['terminal-foreground', 'editor-foreground', 'foreground'];
const GROUND = ['editor-background'];

/** The colours of a run of a command's output as CSS, readable on their ground in the active theme; empty for those of the text around it. */
export function terminalCss({ marks, colour, ground, swapped }: Look): string {
  const isDim = marks.includes('ansi-dim');
  if (colour === undefined && ground === undefined && !swapped && !isDim) return '';
  const page = ofTheme(GROUND) ?? grey(isDark() ? 0 : 255);
  const words = ofTheme(WORDS) ?? grey(isDark() ? 255 : 0);
  const [first, second] = [rgbOf(colour) ?? words, rgbOf(ground) ?? page];
  const [text, behind] = swapped ? [second, first] : [first, second];
  const lifted = readable(isDim ? mixed(text, behind) : text, behind);
  return `color: ${cssOf(lifted)}${ground === undefined && !swapped ? '' : `; background: ${cssOf(behind)}`}`;
}

/** The colour, or as little lighter or darker as makes it readable on this ground. The steps are those of the editor's terminal. */
function readable(colour: Rgb, ground: Rgb): Rgb {
  if (contrast(colour, ground) >= LEAST_CONTRAST) return colour;
  const away = luminance(colour) < luminance(ground) ? 0 : 255;
  const one = moved(colour, ground, away);
  if (contrast(one, ground) >= LEAST_CONTRAST) return one;
  const other = moved(colour, ground, 255 - away);
  return contrast(other, ground) > contrast(one, ground) ? other : one;
}

function moved(colour: Rgb, ground: Rgb, towards: number): Rgb {
  const step = (part: number) => part + Math.sign(towards - part) * Math.ceil(Math.abs(towards - part) * 0.1);
  let now = colour;
  while (contrast(now, ground) < LEAST_CONTRAST && now.some((part) => part !== towards)) now = [step(now[0]), step(now[1]), step(now[2])];
  return now;
}

/** The contrast ratio of WCAG, from 1 to 21. */
function contrast(one: Rgb, other: Rgb): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: Rgb): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) => (part <= 10 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return red * 0.2126 + green * 0.7152 + blue * 0.0722;
}

function mixed(colour: Rgb, ground: Rgb): Rgb {
  const part = (at: 0 | 1 | 2) => Math.round(colour[at] * DIM + ground[at] * (1 - DIM));
  return [part(0), part(1), part(2)];
}

/** The numbers after the sixteen of the palette are a cube of six steps, and greys. */
function rgbOf(colour: Colour | undefined): Rgb | undefined {
  if (typeof colour !== 'number') return colour;
  const name = PALETTE[colour];
  if (name !== undefined) return ofTheme([name]);
  if (colour >= 232) return grey(8 + (colour - 232) * 10);
  const step = (value: number) => (value === 0 ? 0 : 55 + value * 40);
  return [step(Math.floor((colour - 16) / 36)), step(Math.floor((colour - 16) / 6) % 6), step((colour - 16) % 6)];
}

function grey(part: number): Rgb {
  return [part, part, part];
}

function ofTheme(names: readonly string[]): Rgb | undefined {
  return parsed(themeColour(names) ?? '');
}

/** The two ways in which the editor writes colours: `#rrggbb` and `rgba(…)`. */
function parsed(text: string): Rgb | undefined {
  const digits = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(text)?.slice(1);
  const parts = digits?.map((part) => Number.parseInt(part, 16)) ?? /^rgba?\(([^)]*)\)$/.exec(text)?.[1]?.split(',').map(Number);
  const [red, green, blue] = parts ?? [];
  return red === undefined || green === undefined || blue === undefined ? undefined : [red, green, blue];
}

function cssOf([red, green, blue]: Rgb): string {
  return `rgb(${red} ${green} ${blue})`;
}
