import type { Log } from '../../base/log.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Content } from '../../session/model.ts';
import type { CallState } from './calls.ts';
import { decodeUpdate, grow, isOfTurn, isReminder, type Memory } from './codec.ts';
import { toContent } from './content.ts';
import { displayTerminal } from './displayTerminals.ts';
import type { Settings } from './options.ts';
import { type Update, update, updateFrame } from './schema.ts';
import type { TurnMemory, Turns } from './turns.ts';

/** Updates kept for a session whose id is not known yet. */
const KEPT = 200;
/** How long it must be quiet for the agent's record, or what it does unasked, to count as over; in milliseconds. */
const RECORD_QUIET = 300;
const BACKGROUND_QUIET = 2000;

export interface UpdatesScene {
  readonly emit: (event: SessionEvent) => void;
  readonly turns: Turns;
  readonly settings: Settings;
  readonly newId: () => string;
  readonly log: Log;
  readonly onCall: (turn: TurnMemory, call: CallState) => void;
}

/** What an update is: news; the agent's record, which is shown; or its record of what is on the screen already. */
type Sense = 'live' | 'record' | 'known';

/** Takes in session/update: before the session has an id, while its record is replayed, in a turn, and after one (acp.md §5-§7). */
export class Updates {
  readonly #scene: UpdatesScene;
  readonly #early: { readonly sessionId: string; readonly params: unknown }[] = [];
  readonly #strange = new Set<string>();
  #sessionId: string | undefined;
  #sense: Sense = 'live';
  #prompt: { readonly messageId: string | undefined; content: Content[] } | undefined;
  #quiet: NodeJS.Timeout | undefined;
  #onQuiet: (() => void) | undefined;

  constructor(scene: UpdatesScene) {
    this.#scene = scene;
  }

  take(params: unknown): void {
    if (this.#takeText(params)) return;
    const frame = updateFrame.safeParse(params);
    if (!frame.success) return this.#note('session/update without a session or a kind');
    const { sessionId } = frame.data;
    if (sessionId !== this.#sessionId) {
      if (this.#sessionId !== undefined) return this.#note(`session/update of another session ${sessionId}`);
      if (this.#early.length < KEPT) this.#early.push({ sessionId, params });
      return;
    }
    const parsed = update.safeParse(frame.data.update);
    if (!parsed.success) return this.#note(`session/update of the kind ${frame.data.update.sessionUpdate.slice(0, 100)}`);
    this.#update(parsed.data);
  }

  /** A record is about to be replayed, before the answer to the request and maybe after it. */
  replay(sense: Exclude<Sense, 'live'>): void {
    this.#sense = sense;
  }

  /** The session's id is known: what came before it is taken in now. */
  known(sessionId: string): void {
    this.#sessionId = sessionId;
    for (const early of this.#early.splice(0)) if (early.sessionId === sessionId) this.take(early.params);
  }

  /** Settles when the record has come in, also when it comes after the answer. */
  recorded(): Promise<void> {
    if (this.#sense === 'live') return Promise.resolve();
    return new Promise((resolve) => {
      this.#onQuiet = resolve;
      this.#wait(RECORD_QUIET);
    });
  }

  /** A prompt is about to be sent: what comes from now on is news. */
  live(): void {
    this.#settle();
    this.#sense = 'live';
  }

  dispose(): void {
    clearTimeout(this.#quiet);
    this.#onQuiet?.();
  }

  /** The short cut for text in a running turn, which is nearly all that ever comes. */
  #takeText(params: unknown): boolean {
    const turn = this.#scene.turns.current;
    if (turn?.sort !== 'prompt' || this.#sense !== 'live' || typeof params !== 'object' || params === null) return false;
    const { sessionId, update: news } = params as { readonly sessionId?: unknown; readonly update?: TextNews | null };
    if (sessionId !== this.#sessionId || typeof news !== 'object' || news === null) return false;
    const kind =
      news.sessionUpdate === 'agent_message_chunk' ? 'text' : news.sessionUpdate === 'agent_thought_chunk' ? 'thought' : undefined;
    const { content, messageId } = news;
    if (!kind || typeof content !== 'object' || content === null || content.type !== 'text' || typeof content.text !== 'string')
      return false;
    const event = grow(turn, kind, content.text, typeof messageId === 'string' ? messageId : undefined);
    if (event) this.#scene.emit(event);
    return true;
  }

  #update(news: Update): void {
    const kind = news.sessionUpdate;
    if (this.#sense !== 'live') this.#wait(RECORD_QUIET);
    const ofTurn = isOfTurn(kind) || kind === 'user_message_chunk';
    if (this.#sense === 'known' && (ofTurn || kind === 'plan')) return;
    if (this.#sense === 'record' && news.sessionUpdate === 'user_message_chunk') return this.#recordPrompt(news);
    if (ofTurn && !this.#makeTurn(news)) return;
    const events = decodeUpdate(news, this.memory());
    for (const event of events ?? []) this.#scene.emit(event);
  }

  /** What a message is decoded with now. */
  memory(): Memory {
    const { turns, settings, onCall } = this.#scene;
    return { turn: turns.current, turns, settings, onCall, onMeta: displayTerminal };
  }

  /** False when the news belongs to no turn that could show it. */
  #makeTurn(news: Update): boolean {
    const { turns } = this.#scene;
    if (this.#sense === 'record') {
      if (this.#prompt || !turns.current) this.#recordTurn();
      return true;
    }
    if (turns.current?.sort === 'prompt') return true;
    if ('toolCallId' in news && turns.isPast(news.toolCallId) && news.sessionUpdate === 'tool_call_update') return false;
    if (news.sessionUpdate === 'user_message_chunk') return false;
    if (!turns.current) turns.begin(this.#scene.newId(), 'background', []);
    this.#wait(BACKGROUND_QUIET);
    return true;
  }

  #recordPrompt(news: Extract<Update, { sessionUpdate: 'user_message_chunk' }>): void {
    const content = toContent(news.content);
    if (content.type === 'text' && isReminder(content.text)) return;
    const messageId = news.messageId ?? undefined;
    if (this.#prompt && this.#prompt.messageId !== messageId) this.#recordTurn();
    this.#prompt ??= { messageId, content: [] };
    const last = this.#prompt.content.at(-1);
    if (content.type === 'text' && last?.type === 'text') {
      this.#prompt.content[this.#prompt.content.length - 1] = { type: 'text', text: last.text + content.text };
    } else this.#prompt.content.push(content);
  }

  /** Begins the turn of the record whose prompt has come in. */
  #recordTurn(): void {
    const { turns } = this.#scene;
    const content = (this.#prompt?.content ?? []).filter((one) => one.type !== 'text' || !isReminder(one.text));
    this.#prompt = undefined;
    turns.end('done');
    turns.begin(this.#scene.newId(), 'replay', content);
  }

  #wait(ms: number): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.#settle(), ms);
  }

  /** It has been quiet: what is not a turn of ours is over. */
  #settle(): void {
    clearTimeout(this.#quiet);
    const { turns } = this.#scene;
    if (this.#prompt) this.#recordTurn();
    if (turns.current && turns.current.sort !== 'prompt') turns.end('done');
    this.#onQuiet?.();
    this.#onQuiet = undefined;
  }

  /** Once per kind: agents send some of these all the time. */
  #note(what: string): void {
    if (this.#strange.has(what) || this.#strange.size >= 100) return;
    this.#strange.add(what);
    this.#scene.log.info(`Left aside: ${what}`);
  }
}

interface TextNews {
  readonly sessionUpdate?: unknown;
  readonly messageId?: unknown;
  readonly content?: { readonly type?: unknown; readonly text?: unknown } | null;
}
