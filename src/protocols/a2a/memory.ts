import { t } from '../../base/l10n.ts';
import type { Turn } from '../../session/model.ts';
import type { Allowances } from './allowances.ts';
import type { Peer } from './card.ts';
import type { Known } from './known.ts';
import type { PushDoor } from './pushDoor.ts';
import type { Rpc } from './rpc.ts';

/** What outlives a turn of one conversation. */
export interface Memory {
  peer: Peer;
  readonly rpc: Rpc;
  readonly cwd: string;
  /** The address the agent was found at, without a slash at its end. */
  readonly base: string;
  /** The shipped server in its later generation (a2a.md §5). */
  newer: boolean;
  /** The style the agent writes names in. */
  camel: boolean;
  task: { readonly id: string } | undefined;
  contextId: string | undefined;
  /** The last turn left the task in this state, which may take no more messages. */
  completed: boolean;
  /** Settings are sent with the first message of a task. */
  settled: boolean;
  /** A new task knows nothing of the conversation: it is told before the next prompt. */
  tellPast: boolean;
  /** What the agent has to be told with the next prompt. */
  readonly notes: string[];
  /** What the user allowed for the rest of the conversation. */
  readonly remembered: Allowances;
  /** Where the agent may say that there is news. */
  readonly push?: PushDoor;
  /** The last message held that place; the task it is for is known once it has been answered. */
  pushSent: boolean;
  /** The task whose news go there. */
  pushed: string | undefined;
  pushRefused: boolean;
  /** What of the task was shown. */
  readonly known: Known;
  /** Who said what, for a task that has to be told. */
  readonly past: Past;
  /** Which model answers, and on which tier, as the agent said last; '' before it did. */
  model: string;
  /** The model is another one. */
  readonly modelChanged: () => void;
  /** Goes over to the other version of A2A, once, as the card says now or else by trying. False when that has been done. */
  readonly changeVersion: () => Promise<boolean>;
  /** What a command that runs in a task of its own has put aside. */
  aside: Aside | undefined;
}

type Aside = Pick<Memory, 'task' | 'contextId' | 'completed' | 'settled' | 'tellPast'>;

/** A command runs in a task of its own: the conversation's is kept for when it is over. */
export function setAside(memory: Memory): void {
  const { task, contextId, completed, settled, tellPast } = memory;
  memory.aside = { task, contextId, completed, settled, tellPast };
}

/** The conversation goes on in its own task. A context that the command was the first to name is the conversation's as well. */
export function comeBack(memory: Memory): void {
  const { aside } = memory;
  if (!aside) return;
  Object.assign(memory, aside, { contextId: aside.contextId ?? memory.contextId, aside: undefined });
}

const KEPT = 8000;

/** The conversation in short: what a new task is told of an old one. */
export class Past {
  #lines: string[] = [];

  constructor(turns: readonly Turn[] = []) {
    for (const turn of turns) {
      for (const one of turn.prompt) if (one.type === 'text') this.add('User', one.text);
      for (const part of turn.parts) {
        if (part.kind === 'text') this.add('Agent', part.text);
        else if (part.kind === 'call' && part.call.status === 'done')
          for (const output of part.call.output) if (output.kind === 'diff') this.add('Changed', output.diff.path);
      }
    }
  }

  get empty(): boolean {
    return this.#lines.length === 0;
  }

  /** These words have been shown. */
  has(text: string): boolean {
    return this.#lines.some((line) => line.includes(text.trim()));
  }

  add(who: 'User' | 'Agent' | 'Changed', text: string): void {
    if (text.trim() === '') return;
    this.#lines.push(`${who}: ${text.trim()}`);
  }

  /** The newest of it, at most 8,000 characters. */
  text(): string {
    let whole = this.#lines.join('\n');
    if (whole.length > KEPT) whole = `…${whole.slice(-KEPT)}`;
    return `This conversation was begun with an earlier task. What was said so far:\n${whole}\n\nWhat the user says now:\n`;
  }
}

/** The task is gone or takes nothing more: the next prompt begins another. Returns what to tell the user. */
export function leaveTask(memory: Memory): string {
  memory.task = undefined;
  memory.completed = false;
  memory.settled = false;
  memory.tellPast = !memory.past.empty;
  return t('The agent begins a new task with the next message; it is told what was said so far.');
}

/** What a later window finds the conversation by. */
export function resumeKey({ task, contextId }: Memory): string {
  return JSON.stringify({ taskId: task?.id, contextId });
}
