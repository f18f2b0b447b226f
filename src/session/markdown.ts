import { t } from '../base/l10n.ts';
import { callWords, rowPieces } from './callWords.ts';
import type { Content, Part, Session, Turn } from './model.ts';
import { linesText, relativePath, titleOf } from './select.ts';

/** A conversation as a Markdown document: messages in full, each call as one line. */
export function sessionMarkdown(session: Session): string {
  const head = `# ${titleOf(session, 200) || session.agent.name}\n\n_${session.agent.name}_`;
  return `${[head, ...session.turns.map((turn) => turnMarkdown(turn, session))].join('\n\n')}\n`;
}

function turnMarkdown(turn: Turn, session: Session): string {
  const said = turn.prompt.map((content) => quoted(contentMarkdown(content, session.cwd))).join('\n>\n');
  const parts = turn.parts.flatMap((part) => partMarkdown(part, session));
  const failed = turn.error ? [`**${turn.error.message}**`] : [];
  const stopped = turn.status === 'cancelled' && !turn.error ? [`_${t('Stopped')}_`] : [];
  return [said, ...joinLists(parts), ...failed, ...stopped].filter(Boolean).join('\n\n');
}

function partMarkdown(part: Part, session: Session): readonly string[] {
  // The call of a sub-agent summarizes its messages.
  if (part.parent !== undefined) return [];
  switch (part.kind) {
    case 'text':
      return [part.text.trim()];
    case 'content':
      return [contentMarkdown(part.content, session.cwd)];
    case 'prompt':
      return [part.content.map((content) => quoted(contentMarkdown(content, session.cwd))).join('\n>\n')];
    case 'call': {
      const words = callWords(part.call, session);
      const { code, problem, result } = words;
      const asked = part.call.decision?.kind === 'answers' && result !== undefined ? ` · ${result}` : '';
      const row = rowPieces(words).map(({ role, text, gap }) => (role === 'thing' && code ? ` ${codeSpan(text)}` : gap + text));
      return [`- ${row.join('')}${problem ? ` · ${problem}` : ''}${asked}`];
    }
    case 'thought':
    case 'notice':
      return [];
  }
}

/** Joins the parts and keeps the lines of one list together. */
function joinLists(parts: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.startsWith('- ') && last?.startsWith('- ')) joined[joined.length - 1] = `${last}\n${part}`;
    else joined.push(part);
  }
  return joined;
}

function contentMarkdown(content: Content, cwd: string): string {
  switch (content.type) {
    case 'text':
      return content.label ?? content.text.trim();
    case 'file':
      return codeSpan(`${relativePath(content.path, cwd)}${linesText(content.lines)}`);
    case 'link':
      return content.title ? `[${content.title}](<${content.uri}>)` : `<${content.uri}>`;
    case 'image':
    case 'audio':
      return `_${content.mime}_`;
    case 'raw':
      return content.label;
  }
}

function quoted(text: string): string {
  return text.replace(/^/gm, '> ').replace(/^> $/gm, '>');
}

/** A code span with a fence longer than every run of backticks inside. */
function codeSpan(text: string): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  const space = text.startsWith('`') || text.endsWith('`') ? ' ' : '';
  return `${fence}${space}${text.replaceAll('\n', ' ')}${space}${fence}`;
}
