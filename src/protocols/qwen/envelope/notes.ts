import { t } from '../../../base/l10n.ts';
import type { Log } from '../../../base/log.ts';
import type { SessionEvent } from '../../../session/events.ts';
import { isRecord } from '../detect.ts';
import type { Turns } from '../turns.ts';
import type { Calls } from './calls.ts';
import * as schema from './schema.ts';
import { styledText } from './styles.ts';

/** Milliseconds a tool may say that it waits for a user before somebody should have been asked (qwen.md §4.3). */
const CONFIRM_LIMIT = 5_000;

export interface NoteDeps {
  readonly emit: (event: SessionEvent) => void;
  readonly turns: Turns;
  readonly calls: Calls;
  readonly log: Log;
  /** An approval is open. */
  readonly asking: () => boolean;
  /** The session said that the turn is over. */
  readonly onFinished: (how: 'done' | 'cancelled') => void;
}

/** The `x-qwen-*` annotations, wherever in a line they stand (qwen.md §4.3). */
export class Notes {
  readonly #deps: NoteDeps;
  readonly #unknown = new Set<string>();
  #thought: { readonly id: string; turn: string } | undefined;
  #terminal: { readonly id: string; readonly turn: string } | undefined;
  readonly #confirm = new Map<string, NodeJS.Timeout>();
  #terminals = 0;

  constructor(deps: NoteDeps) {
    this.#deps = deps;
  }

  /** `content` is the text of the same line, which a terminal note without its own is about. */
  take(note: Readonly<Record<string, unknown>>, content: string): void {
    const { type } = note;
    if (type !== 'x-qwen-thought') this.#thought = undefined;
    switch (type) {
      case 'x-qwen-terminal':
        return this.#show(schema.terminal.safeParse(note).data, content);
      case 'x-qwen-tool-display':
        return this.#display(schema.toolDisplay.safeParse(note).data);
      case 'x-qwen-thought':
        return this.#think(schema.thought.safeParse(note).data);
      case 'x-qwen-session-event':
        return this.#session(schema.sessionEvent.safeParse(note).data);
      case 'x-qwen-ansi':
        // Beside a text it is the same once more.
        return content === '' ? this.#show({ text: schema.ansi.safeParse(note).data?.value }, '') : undefined;
      default: {
        const name = String(type).slice(0, 100);
        if (!this.#unknown.has(name) && this.#unknown.size < 50)
          this.#deps.log.info(`An annotation of an unknown type "${name}" is ignored`);
        this.#unknown.add(name);
      }
    }
  }

  /** How the agent says it is, when it is not well. */
  state(status: string | null | undefined): void {
    if (status && status !== 'ok') this.#deps.turns.note('info', t('The agent says about itself: {0}', status));
  }

  /** Text of the agent came in between: the next thought is another one. */
  interrupt(): void {
    this.#thought = undefined;
  }

  endTurn(): void {
    for (const timer of this.#confirm.values()) clearTimeout(timer);
    this.#confirm.clear();
    const terminal = this.#terminal;
    this.#thought = undefined;
    this.#terminal = undefined;
    if (!terminal) return;
    this.#deps.emit({ type: 'terminal.changed', terminal: { id: terminal.id, exit: { code: null, signal: null } } });
    const change = { status: 'done' } as const;
    this.#deps.emit({ type: 'call.changed', turnId: terminal.turn, callId: terminal.id, change });
  }

  #show(note: schema.TerminalNote | undefined, content: string): void {
    if (!note) return;
    const text = note.text ?? (note.source === 'assistant' ? '' : content);
    if (note.log_scope === 'debug' || note.console_level === 'debug') return this.#deps.log.trace(`Agent: ${text}`);
    if (note.source === 'system' && note.exit_code != null) {
      this.#deps.turns.note('info', t('The program of the agent ends with exit code {0}.', note.exit_code));
    }
    if (text === '') return;
    const id = this.#terminalOfTurn();
    const badge =
      note.source === 'console' || note.log_scope ? `\u001b[90m${note.log_scope ?? note.console_level ?? 'console'}:\u001b[0m ` : '';
    this.#deps.emit({ type: 'terminal.changed', terminal: { id }, delta: `${badge}${styledText(text, note)}` });
  }

  /** One terminal for what a turn prints, shown as a card of its own. */
  #terminalOfTurn(): string {
    const turn = this.#deps.turns.needed().id;
    if (this.#terminal?.turn === turn) return this.#terminal.id;
    this.#terminals += 1;
    const id = `terminal-${turn}-${this.#terminals}`;
    this.#terminal = { id, turn };
    this.#deps.emit({ type: 'terminal.changed', terminal: { id, command: '' } });
    this.#deps.emit({
      type: 'part.added',
      turnId: turn,
      part: {
        kind: 'call',
        id,
        call: {
          id,
          name: 'terminal',
          title: t('Terminal output'),
          kind: 'execute',
          status: 'running',
          inputText: '',
          output: [{ kind: 'terminal', terminalId: id }],
          locations: [],
        },
      },
    });
    return id;
  }

  #display(shown: schema.ToolDisplay | undefined): void {
    if (!shown) return;
    const turn = this.#deps.turns.needed();
    for (const event of this.#deps.calls.display(shown, turn.id)) this.#deps.emit(event);
    const id = shown.tool_call_id;
    clearTimeout(this.#confirm.get(id));
    this.#confirm.delete(id);
    if (shown.status?.toLowerCase() !== 'confirming') return;
    const late = () => {
      const title = this.#deps.calls.unasked(id);
      if (this.#deps.asking() || this.#deps.turns.running !== turn || title === undefined) return;
      this.#deps.turns.note('warn', t('"{0}" waits for an approval that the agent has not asked for.', title));
    };
    this.#confirm.set(id, setTimeout(late, CONFIRM_LIMIT));
  }

  #think(note: { readonly subject?: string | null | undefined; readonly description?: string | null | undefined } | undefined): void {
    if (!note) return;
    const turnId = this.#deps.turns.needed().id;
    const words = [note.subject ? `**${note.subject}**` : '', note.description ?? ''].filter(Boolean).join('\n\n');
    if (words === '') return;
    const known = this.#thought?.turn === turnId ? this.#thought : undefined;
    this.#thought = known ?? { id: this.#deps.turns.newPart(), turn: turnId };
    this.#deps.emit({ type: 'text.delta', turnId, kind: 'thought', partId: this.#thought.id, text: known ? `\n\n${words}` : words });
  }

  #session(note: ReturnType<typeof schema.sessionEvent.parse> | undefined): void {
    if (!note) return;
    const { turns, onFinished } = this.#deps;
    const { original_tokens: from, compressed_tokens: to } = note.metrics ?? {};
    switch (note.event) {
      case 'Finished':
        return onFinished('done');
      case 'USER_CANCELLED':
        return onFinished('cancelled');
      case 'ChatCompressed':
        return turns.note(
          'info',
          from != null && to != null
            ? t('The conversation was compressed from {0} to {1} tokens.', from, to)
            : t('The conversation was compressed.'),
        );
      case 'MAX_TOKENS':
        return turns.note('warn', note.message ?? t('The answer was cut off: it reached the token limit.'));
      case 'MaxSessionTurns':
        return turns.note('warn', note.message ?? t('The session has used up its turns.'));
      case 'SessionTokenLimitExceeded':
        return turns.note('warn', note.message ?? t('The session has used up its tokens.'));
      default:
        if (note.message) turns.note('info', note.message);
    }
  }
}

/** The annotations of a list that are objects. */
export function annotationsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
