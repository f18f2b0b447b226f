import { onlyColours, plainOutput } from './ansi.ts';

/** A run of characters of one look; `look` names classes of style.css's terminal colours, empty for none. */
export interface Styled {
  readonly text: string;
  readonly look: string;
}

const SGR = /\u001b\[([0-9;]*)m/;
const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/** Terminal output as lines of styled text: the sixteen colours and bold, in the editor's own palette; everything else of a terminal is dropped. */
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
      // What is written over itself is shown as it ends up, without colours.
      return /[\b\r]/.test(line) ? plainLine(plainOutput(line)) : styled;
    });
}

/** Carriage returns at the end of a line belong to its end. */
function withoutReturns(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === '\r') end -= 1;
  return line.slice(0, end);
}

function plainLine(text: string): readonly Styled[] {
  return text === '' ? [] : [{ text, look: '' }];
}

function lookAfter(look: string, codes: string): string {
  const now = new Set(look.split(' ').filter(Boolean));
  const colour = (name: string | undefined) => {
    for (const one of now) if (one !== 'ansi-bold') now.delete(one);
    if (name) now.add(name);
  };
  const numbers = codes.split(';').map(Number);
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    if (code === 0) now.clear();
    else if (code === 1) now.add('ansi-bold');
    else if (code === 22) now.delete('ansi-bold');
    else if (code >= 30 && code <= 37) colour(`ansi-${NAMES[code - 30]}`);
    else if (code >= 90 && code <= 97) colour(`ansi-bright-${NAMES[code - 90]}`);
    else if (code === 39) colour(undefined);
    // 256 and true colours are not of the palette; their numbers are passed over.
    else if (code === 38 || code === 48) at += numbers[at + 1] === 5 ? 2 : 4;
  }
  return [...now].join(' ');
}
