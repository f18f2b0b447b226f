/** A run of characters of one look; `look` names classes of style.css's terminal colours, empty for none; `css` are colours of code. */
export interface Styled {
  readonly text: string;
  readonly look: string;
  readonly css?: string;
}

const SGR = /\u001b\[([0-9;]*)m/;
const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/** Terminal output as lines of styled text: colours in the editor's palette, bold, dim, italic and underlined; drops everything else. */
export function styledLines(raw: string): readonly (readonly Styled[])[] {
  if (!raw.includes('\u001b[')) return plainOutput(raw).split('\n').map(plainLine);
  let look = '';
  return onlyColours(raw)
    .split('\n')
    .map((whole) => {
      const line = withoutReturns(whole);
      const styled: Styled[] = [];
      for (const [at, piece] of line.split(SGR).entries()) {
        if (at % 2 === 1) look = lookAfter(look, piece);
        else {
          const text = plainOutput(piece);
          if (text !== '') styled.push({ text, look });
        }
      }
      // Shows an overwritten line in its final state, without colours.
      return /[\b\r]/.test(line) ? plainLine(plainOutput(line)) : styled;
    });
}

/** Removes carriage returns at the end of a line, which belong to its line end. */
function withoutReturns(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === '\r') end -= 1;
  return line.slice(0, end);
}

function plainLine(text: string): readonly Styled[] {
  return text === '' ? [] : [{ text, look: '' }];
}

/** The look that a code turns on besides colours, and the code that turns it off. */
const MARKS: Readonly<Record<number, readonly [look: string, off: number]>> = {
  1: ['ansi-bold', 22],
  2: ['ansi-dim', 22],
  3: ['ansi-italic', 23],
  4: ['ansi-underline', 24],
};
const MARK_LOOKS = Object.values(MARKS).map(([look]) => look);

function lookAfter(look: string, codes: string): string {
  const now = new Set(look.split(' ').filter(Boolean));
  const colour = (name: string | undefined) => {
    for (const one of now) if (!MARK_LOOKS.includes(one)) now.delete(one);
    if (name) now.add(name);
  };
  const numbers = codes.split(';').map(Number);
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    const mark = MARKS[code]?.[0];
    if (mark) now.add(mark);
    else if (code === 0) now.clear();
    else if (code >= 22 && code <= 24) for (const [one, off] of Object.values(MARKS)) off === code && now.delete(one);
    else if (code >= 30 && code <= 37) colour(`ansi-${NAMES[code - 30]}`);
    else if (code >= 90 && code <= 97) colour(`ansi-bright-${NAMES[code - 90]}`);
    else if (code === 39) colour(undefined);
    else if (code === 38 || code === 48) {
      const indexed = numbers[at + 1] === 5;
      const rgb = indexed ? rgbOf(numbers[at + 2] ?? 0) : [numbers[at + 2] ?? 0, numbers[at + 3] ?? 0, numbers[at + 4] ?? 0];
      if (code === 38) colour(nearest(rgb));
      at += indexed ? 2 : 4;
    }
  }
  return [...now].join(' ');
}

/** One of the 256 colours of xterm: the sixteen of the palette, a cube of six steps, and greys. */
function rgbOf(index: number): readonly number[] {
  if (index < 16) return [1, 2, 4].map((bit) => ((index & 7 & bit) === 0 ? (index === 8 ? 128 : 0) : index < 8 ? 170 : 255));
  if (index >= 232) return [0, 0, 0].map(() => 8 + (index - 232) * 10);
  const step = (value: number) => (value === 0 ? 0 : 55 + value * 40);
  return [step(Math.floor((index - 16) / 36)), step(Math.floor((index - 16) / 6) % 6), step((index - 16) % 6)];
}

/** The closest palette colour, so that it is legible in every theme. */
function nearest([red = 0, green = 0, blue = 0]: readonly number[]): string {
  const most = Math.max(red, green, blue);
  if (most < 64) return 'ansi-black';
  if (most - Math.min(red, green, blue) < 32) return most > 200 ? 'ansi-bright-white' : most > 128 ? 'ansi-white' : 'ansi-bright-black';
  const bits = [red, green, blue].reduce((sum, part, at) => sum + (part > most * 0.6 ? 1 << at : 0), 0);
  return `ansi-${most > 200 ? 'bright-' : ''}${NAMES[bits]}`;
}

// String sequences (OSC, DCS, PM, APC), then CSI, then the two- and three-byte escapes.
const SEQUENCES = /\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[ -/]*[0-~]?/g;
const CONTROLS = /[\u0000-\u0007\u000b-\u000c\u000e-\u001f\u007f-\u009f]/g;

/** The output without control sequences other than colours; sequences may span lines. */
export function onlyColours(raw: string): string {
  return raw.replace(SEQUENCES, (found) => (/^\u001b\[[0-9;]*m$/.test(found) ? found : ''));
}

/** Terminal output as plain text: control sequences dropped, carriage returns and backspaces applied line by line. Linear. */
export function plainOutput(raw: string): string {
  const text = raw.replace(SEQUENCES, '');
  const lines = /[\r\b]/.test(text) ? text.split('\n').map(overtyped).join('\n') : text;
  return lines.replace(CONTROLS, '');
}

/** The final state of one line; carriage returns at its end overwrite nothing. */
function overtyped(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === '\r') end -= 1;
  const shown = line.slice(line.lastIndexOf('\r', end - 1) + 1, end);
  if (!shown.includes('\b')) return shown;
  const kept: string[] = [];
  for (let at = 0; at < shown.length; at++) {
    if (shown[at] === '\b') kept.pop();
    else kept.push(shown[at] ?? '');
  }
  return kept.join('');
}
