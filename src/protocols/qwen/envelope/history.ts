import { t } from '../../../base/l10n.ts';
import type { SessionEvent } from '../../../session/events.ts';
import type { Notice, ToolCall, TurnId } from '../../../session/model.ts';
import { clip } from '../clip.ts';
import { textOf } from '../content.ts';
import { isRecord } from '../detect.ts';
import { toolUse } from '../toolTable.ts';
import { shownIn, statusIn } from './display.ts';

const ITEMS = 5_000;
const TEXT_KEPT = 256 * 1024;
const LEVELS: Readonly<Record<string, Notice['level']>> = { info: 'info', warning: 'warn', warn: 'warn', error: 'error' };

export interface HistoryScene {
  readonly cwd: string;
  readonly at: number;
  readonly newId: () => string;
}

/**
 * A conversation that a command brought back, as events: a turn for each thing the user said, and where it came from. Items are those of the agent's own list
 * (`type`: user, gemini, tool_group, info, error) or plain messages (`role`: user, assistant); others are left out.
 */
export function historyEvents(items: readonly unknown[], scene: HistoryScene): readonly SessionEvent[] {
  const events: SessionEvent[] = [];
  let turnId: TurnId | undefined;
  const note = (level: Notice['level'], text: string) => {
    const notice = { level, text };
    events.push({ type: 'part.added', turnId: turnId ?? begin(''), part: { kind: 'notice', id: scene.newId(), notice } });
  };
  const end = () => {
    if (turnId !== undefined) events.push({ type: 'turn.ended', turnId, at: scene.at, status: 'done' });
  };
  const begin = (text: string): TurnId => {
    end();
    turnId = scene.newId();
    events.push({ type: 'turn.started', turnId, at: scene.at, prompt: text === '' ? [] : [{ type: 'text', text }] });
    return turnId;
  };
  for (const item of items.slice(0, ITEMS)) {
    if (!isRecord(item)) continue;
    const who = String(item.type ?? item.role ?? '');
    const text = clip(wordsIn(item), TEXT_KEPT);
    const id = scene.newId();
    if (who === 'user') begin(text);
    else if (who === 'tool_group') events.push(...callEvents(item.tools, turnId ?? begin(''), scene));
    else if (text === '') continue;
    else if (who in LEVELS) note(LEVELS[who] ?? 'info', text);
    else if (/^(gemini|gemini_content|qwen|assistant|model)$/.test(who)) {
      events.push({ type: 'text.delta', turnId: turnId ?? begin(''), kind: 'text', partId: id, text });
    }
  }
  note('info', t('The agent went back to this earlier conversation.'));
  end();
  return events;
}

function wordsIn(item: Readonly<Record<string, unknown>>): string {
  if (typeof item.text === 'string') return item.text;
  if (Array.isArray(item.parts))
    return item.parts.map((part) => (isRecord(part) && typeof part.text === 'string' ? part.text : '')).join('');
  return textOf(item.content);
}

function callEvents(tools: unknown, turnId: TurnId, { cwd, newId }: HistoryScene): readonly SessionEvent[] {
  if (!Array.isArray(tools)) return [];
  return tools.filter(isRecord).flatMap((tool): readonly SessionEvent[] => {
    const name = typeof tool.name === 'string' ? tool.name : 'tool';
    const use = toolUse(name, tool.args, cwd);
    const shown = shownIn(tool.resultDisplay ?? tool.result_display, cwd);
    const id = newId();
    const call: ToolCall = {
      id,
      name,
      title: typeof tool.description === 'string' && tool.args === undefined ? `${name} ${clip(tool.description, 200)}` : use.title,
      kind: use.kind,
      status: statusIn(typeof tool.status === 'string' ? tool.status : 'success') ?? 'done',
      inputText: '',
      output: shown?.output ?? [],
      locations: use.locations,
    };
    return [{ type: 'part.added', turnId, part: { kind: 'call', id, call } }];
  });
}
