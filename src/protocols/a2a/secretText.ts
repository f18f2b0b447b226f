import { validateHeaderValue } from 'node:http';
import type { Way } from './signIn.ts';

/** A secret as it was meant: pasted ones come with line ends, with blanks around them, or with the scheme's word in front. '' when nothing is left. */
export function tidied(typed: string, way: Way): string {
  const line = typed.replace(/\s*[\r\n]+\s*/g, '').trim();
  if (way.how === 'key') return way.place === 'header' ? after(line, `${way.name}:`) : line;
  const bare = after(line, 'authorization:');
  if (way.how === 'bearer') return after(bare, 'bearer ');
  const encoded = after(bare, 'basic ');
  if (encoded === bare) return bare;
  // What stands in a header is encoded already.
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  return decoded.includes(':') ? decoded : bare;
}

/** False for what no request could carry there. */
export function canBeSent(secret: string, way: Way): boolean {
  // The others are encoded on the way.
  if (way.how === 'basic' || (way.how === 'key' && way.place !== 'header')) return true;
  try {
    validateHeaderValue('x', secret);
    return true;
  } catch {
    return false;
  }
}

function after(text: string, word: string): string {
  return text.toLowerCase().startsWith(word.toLowerCase()) ? text.slice(word.length).trim() : text;
}
