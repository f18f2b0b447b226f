/** A run of characters of one look; `look` names classes, empty for none; `css` are colours of code. */
export interface Styled {
  readonly text: string;
  readonly look: string;
  readonly css?: string;
}

/** One of the 256 colours of a terminal by its number, or a colour as red, green and blue. */
export type Colour = number | readonly [red: number, green: number, blue: number];

/** The look that codes turned on, empty where there is none. */
export interface Look {
  /** Names of classes. */
  readonly marks: readonly string[];
  readonly colour?: Colour | undefined;
  readonly ground?: Colour | undefined;
  /** Colour and ground have changed places. */
  readonly swapped?: true | undefined;
}

/** A run of characters that a program printed in one look. */
export interface OutputRun extends Look {
  readonly text: string;
}

const SGR = /\u001b\[([0-9;]*)m/;
const PLAIN: Look = { marks: [] };

/** Terminal output as lines of runs: their colours, bold, dim, italic and underlined; drops everything else. */
export function printedLines(raw: string): readonly (readonly OutputRun[])[] {
  if (!raw.includes('\u001b[')) return plainOutput(raw).split('\n').map(plainLine);
  let look = PLAIN;
  return onlyColours(raw)
    .split('\n')
    .map((whole) => {
      const line = withoutReturns(whole);
      const runs: OutputRun[] = [];
      for (const [at, piece] of line.split(SGR).entries()) {
        if (at % 2 === 1) look = lookAfter(look, piece);
        else {
          const text = plainOutput(piece);
          if (text !== '') runs.push({ ...look, text });
        }
      }
      // Shows an overwritten line in its final state, without colours.
      return /[\b\r]/.test(line) ? plainLine(plainOutput(line)) : runs;
    });
}

/** Removes carriage returns at the end of a line, which belong to its line end. */
function withoutReturns(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === '\r') end -= 1;
  return line.slice(0, end);
}

function plainLine(text: string): readonly OutputRun[] {
  return text === '' ? [] : [{ ...PLAIN, text }];
}

/** The look that a code turns on besides colours, and the code that turns it off. */
const MARKS: Readonly<Record<number, readonly [look: string, off: number]>> = {
  1: ['ansi-bold', 22],
  2: ['ansi-dim', 22],
  3: ['ansi-italic', 23],
  4: ['ansi-underline', 24],
};
/** Where the codes of the sixteen colours of the palette begin. */
const COLOURS = [30, 90] as const;
const GROUNDS = [40, 100] as const;

function lookAfter(before: Look, codes: string): Look {
  let look = before;
  const numbers = codes.split(';').map(Number);
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    const mark = MARKS[code]?.[0];
    const [colour, ground] = [COLOURS, GROUNDS].map((starts) => ofPalette(code, starts));
    if (mark) look = { ...look, marks: [...look.marks.filter((one) => one !== mark), mark] };
    else if (code === 0) look = PLAIN;
    else if (code >= 22 && code <= 24) look = { ...look, marks: look.marks.filter((one) => !isOff(one, code)) };
    else if (code === 7 || code === 27) look = { ...look, swapped: code === 7 ? true : undefined };
    else if (colour !== undefined || code === 39) look = { ...look, colour };
    else if (ground !== undefined || code === 49) look = { ...look, ground };
    else if (code === 38 || code === 48) {
      const indexed = numbers[at + 1] === 5;
      const [first = 0, green = 0, blue = 0] = numbers.slice(at + 2).map((one) => Math.min(255, one));
      const of: Colour = indexed ? first : [first, green, blue];
      look = code === 38 ? { ...look, colour: of } : { ...look, ground: of };
      at += indexed ? 2 : 4;
    }
  }
  return look;
}

function isOff(mark: string, code: number): boolean {
  return Object.values(MARKS).some(([one, off]) => one === mark && off === code);
}

function ofPalette(code: number, [plain, bright]: readonly [number, number]): number | undefined {
  if (code >= plain && code < plain + 8) return code - plain;
  return code >= bright && code < bright + 8 ? code - bright + 8 : undefined;
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
