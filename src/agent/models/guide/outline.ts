import type { Localize } from '../../locale.ts';
import { count } from './language.ts';

interface Entry {
  readonly line: number;
  readonly text: string;
}

const MOST = 40;

/** What a file is about: its own opening words, and its headings or declarations with their lines. Markdown. */
export function outlineOf(path: string, lines: readonly string[], say: Localize): string {
  const about = isProse(path) ? '' : opening(lines);
  const entries = isProse(path) ? headings(lines) : declarations(lines);
  const size = say(`${count(lines.length, 'line')}.`, `${lines.length} 行。`);
  const parts = [size + (about === '' ? '' : `\n\n> ${about.replaceAll('\n', '\n> ')}`)];
  if (entries.length === 0) {
    const start = lines.filter((line) => line.trim() !== '').slice(0, 8);
    if (start.length > 0) parts.push(`${say('It begins:', '开头是：')}\n\n\`\`\`\`\n${start.join('\n')}\n\`\`\`\``);
    return parts.join('\n\n');
  }
  const rows = entries.slice(0, MOST).map((entry) => `- \`${path}:${entry.line}\` ${entry.text}`);
  if (entries.length > MOST) rows.push(say(`- ... and ${entries.length - MOST} more`, `- ……还有 ${entries.length - MOST} 项`));
  parts.push(`${isProse(path) ? say('Its headings:', '标题：') : say('It declares:', '其中声明了：')}\n\n${rows.join('\n')}`);
  return parts.join('\n\n');
}

function isProse(path: string): boolean {
  return /\.(?:md|markdown|mdx|rst|adoc)$/i.test(path);
}

function headings(lines: readonly string[]): readonly Entry[] {
  let fenced = false;
  return lines.flatMap((line, at): readonly Entry[] => {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    const match = fenced ? null : /^(#{1,4})\s+(.+)$/.exec(line);
    return match ? [{ line: at + 1, text: `${'  '.repeat((match[1]?.length ?? 1) - 1)}${match[2]}` }] : [];
  });
}

const DECLARATION =
  /^(?<in>\s{0,4})(?<ex>export\s+)?(?:default\s+|declare\s+|public\s+|private\s+|protected\s+|internal\s+|static\s+|final\s+|abstract\s+|pub(?:\([^)]*\))?\s+|async\s+|unsafe\s+)*(?<kind>function\*?|class|interface|type|enum|const|let|var|def|fn|func|struct|trait|impl|module|namespace|record|protocol|object)\s+(?:\([^)]*\)\s*)?(?<name>[\w$.<>]+)/;

function declarations(lines: readonly string[]): readonly Entry[] {
  return lines.flatMap((line, at): readonly Entry[] => {
    const { in: indent = '', ex, kind, name } = DECLARATION.exec(line)?.groups ?? {};
    if (kind === undefined || name === undefined) return [];
    // Inside a block only functions and classes say something; local variables do not.
    if (indent !== '' && !/^(?:function|def|fn|func|class)/.test(kind)) return [];
    return [{ line: at + 1, text: `${ex === undefined ? '' : 'export '}${kind} **${name.replace(/<.*$/, '')}**` }];
  });
}

/** The comment a file begins with. */
function opening(lines: readonly string[]): string {
  const text: string[] = [];
  for (const line of lines.slice(0, 40)) {
    if (/^#!/.test(line) || (text.length === 0 && /^\s*(?:$|import\b|from\b|package\b|using\b|'use |"use )/.test(line))) continue;
    const match = /^\s*(?:\/\*+|\*\/|\*|\/\/+|#+|"""|'''|--|<!--)\s?(.*?)(?:\*\/|"""|-->)?\s*$/.exec(line);
    if (!match) break;
    text.push(match[1] ?? '');
  }
  return text.join('\n').trim().slice(0, 500);
}
