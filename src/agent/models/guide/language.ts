import { inChinese, inEnglish, type Localize } from '../../locale.ts';

/**
 * A user's request: `text` as typed; `spoken` the same without politeness; `masked` that with each quoted or fenced text as one word that
 * `plain` turns back (without its quotes).
 */
export interface UserRequest {
  readonly text: string;
  readonly spoken: string;
  readonly masked: string;
  plain(masked: string): string;
}

/** `1 file`, `2 files`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : /(?:s|x|ch)$/.test(noun) ? 'es' : 's'}`;
}

/** The language a user wrote in. */
export function localizeFor(text: string): Localize {
  return /[\u3400-\u9fff]/.test(text) ? inChinese : inEnglish;
}

const QUOTED =
  /```[^\n`]*\n([\s\S]*?)\n?```|`([^`\n]+)`|"([^"]*)"|“([^”]*)”|「([^」]*)」|『([^』]*)』|‘([^’]*)’|(?<=^|[\s(:,，：])'([^'\n]*)'(?=$|[\s),.?!，。])/g;
const POLITE =
  /^(?:(?:please|pls|can you|could you|would you|will you|now|then|and|请你?|帮我|麻烦你?|帮忙|能不能|可以|给我|我想|我要|then)[\s,，]*)+/i;

/** A request ready to be matched: politeness and the last full stop are gone, quoted text is one word each, `@path` is a path. */
export function askedOf(text: string): UserRequest {
  const quoted: string[] = [];
  const masked = text
    .trim()
    .replace(QUOTED, (_, ...groups: unknown[]) => {
      quoted.push(String(groups.slice(0, 8).find((group) => group !== undefined) ?? ''));
      return ` \u27e6${quoted.length - 1}\u27e7 `;
    })
    .replace(/(^|\s)@(?=[\w./\\-])/g, '$1')
    .replace(/[ \t]+/g, ' ')
    .trim()
    .replace(POLITE, '')
    .replace(/\s*(?:[.。!！?？]|，谢谢|, (?:please|thanks))+$/i, '')
    .trim();
  return {
    text: text.trim(),
    spoken: text
      .trim()
      .replace(POLITE, '')
      .replace(/[。！？]+$|(?<=\w)\.$/, ''),
    masked,
    plain: (part) => {
      const whole = /^\s*\u27e6(\d+)\u27e7\s*$/.exec(part);
      if (whole) return quoted[Number(whole[1])] ?? '';
      return part.replace(/\u27e6(\d+)\u27e7/g, (_, at: string) => quoted[Number(at)] ?? '').trim();
    },
  };
}
