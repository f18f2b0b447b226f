import type { Log } from '../../base/log.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Content } from '../../session/model.ts';
import type { TextCoalescer } from '../textCoalescer.ts';
import { AgentTerminals } from './agentTerminals.ts';
import type { CallState } from './calls.ts';
import { decodeUpdate, isOfTurn, type Memory } from './codec.ts';
import { toContent } from './content.ts';
import type { Dialect } from './dialect.ts';
import { displayTerminal } from './displayTerminals.ts';
import { LONGEST_ID } from './lenient.ts';
import { grow, isReminder } from './messages.ts';
import type { Settings } from './options.ts';
import { Plans } from './plans.ts';
import type { Activity, ContentBlock, Update } from './schema.ts';
import { ofSubagent, Subagents } from './subagents.ts';
import type { TurnMemory, Turns } from './turns.ts';

/** Updates kept for a session whose id is not known yet. */
const KEPT = 200;
/** How long it must be quiet for the agent's record, or what it does unasked, to count as over; in milliseconds. */
const RECORD_QUIET = 300;
const BACKGROUND_QUIET = 2000;

export interface UpdatesScene {
  readonly growth: TextCoalescer;
  readonly turns: Turns;
  readonly settings: Settings;
  readonly dialect: () => Dialect;
  readonly newId: () => string;
  readonly log: Log;
  readonly onCall: (turn: TurnMemory, call: CallState) => void;
  /** The agent says whether it works. */
  readonly onActivity: (activity: Activity) => void;
}

/** What an update is: news; the agent's record, which is shown; or its record of what is on the screen already. */
type Sense = 'live' | 'record' | 'known';

/** Takes in session/update: before the session has an id, while its record is replayed, in a turn, and after one (acp.md §5-§7). */
export class Updates {
  readonly subagents = new Subagents();
  readonly terminals = new AgentTerminals();
  readonly #scene: UpdatesScene;
  readonly #plans = new Plans();
  readonly #early: { readonly sessionId: string; readonly params: unknown }[] = [];
  readonly #strange = new Set<string>();
  #sessionId: string | undefined;
  #sense: Sense = 'live';
  #prompt: { readonly messageId: string | undefined; content: Content[] } | undefined;
  /** The agent has said that it works, and not yet that it is done. */
  #working = false;
  #quiet: NodeJS.Timeout | undefined;
  #onQuiet: (() => void) | undefined;

  constructor(scene: UpdatesScene) {
    this.#scene = scene;
  }

  take(params: unknown): void {
    if (this.#takeText(params)) return;
    if (!isFrame(params)) return this.#note('session/update without a session or a kind');
    const { sessionId, update } = params;
    const child = sessionId !== this.#sessionId && this.subagents.titleOf(sessionId) !== undefined;
    if (sessionId !== this.#sessionId && !child) {
      if (this.#sessionId !== undefined) return this.#note(`session/update of another session ${sessionId}`);
      if (this.#early.length < KEPT) this.#early.push({ sessionId, params });
      return;
    }
    const news = this.#scene.dialect().readUpdate(update);
    if (!news) return this.#note(`session/update of the kind ${update.sessionUpdate.slice(0, 100)}`);
    if (child) this.#ofSubagent(sessionId, news);
    else this.#update(news);
  }

  /** A record is about to be replayed, before the answer to the request and maybe after it. */
  replay(sense: Exclude<Sense, 'live'>): void {
    this.#sense = sense;
  }

  /** The session's id is known: what came before it is taken in now. */
  known(sessionId: string): void {
    this.#sessionId = sessionId;
    for (const early of this.#early.splice(0)) this.take(early.params);
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
    if (event) this.#scene.growth.grow(event);
    return true;
  }

  #update(news: Update): void {
    if (news.sessionUpdate === 'state_update') return this.#activity(news);
    if (this.#sense !== 'live') this.#wait(RECORD_QUIET);
    const isPrompt = news.sessionUpdate === 'user_message_chunk' || (news.sessionUpdate === 'message' && news.kind === 'prompt');
    const ofTurn = isOfTurn(news.sessionUpdate) || isPrompt || news.sessionUpdate === 'subagent_update';
    if (this.#sense === 'known' && (ofTurn || news.sessionUpdate.startsWith('plan'))) return;
    if (this.#sense === 'record' && isPrompt) return this.#recordPrompt(news);
    if (ofTurn && !this.#makeTurn(news, isPrompt)) return;
    if (news.sessionUpdate === 'subagent_update') return this.#emit(this.subagents.announced(news, this.#scene.turns.current));
    this.#emit(decodeUpdate(news, this.memory()) ?? []);
  }

  /** What a message is decoded with now. */
  memory(): Memory {
    const { turns, settings, onCall, dialect } = this.#scene;
    const { messagesStay } = dialect();
    return {
      turn: turns.current,
      turns,
      settings,
      plans: this.#plans,
      terminals: this.terminals,
      messagesStay,
      onCall,
      onMeta: displayTerminal,
    };
  }

  /** The same for something a sub-agent says, with what has to be told before it. undefined: no such sub-agent, or no turn to show it in. */
  memoryWithin(sessionId: string): Memory | undefined {
    const memory = this.memory();
    const within = memory.turn && this.subagents.within(sessionId, memory.turn);
    if (within) this.#emit(within.before);
    return within && { ...memory, turn: within.turn };
  }

  /** Only what it says and does is shown; plans and settings of its own are its own. */
  #ofSubagent(sessionId: string, news: Update): void {
    const isTerminal = news.sessionUpdate === 'terminal';
    if ((!isOfTurn(news.sessionUpdate) && !isTerminal) || this.#sense === 'known' || !this.#makeTurn(news, false)) return;
    const memory = this.memoryWithin(sessionId);
    if (!memory) return;
    const own = 'toolCallId' in news ? ofSubagent(sessionId, news) : news;
    this.#emit(this.subagents.below(sessionId, decodeUpdate(own, memory) ?? []));
  }

  #activity(activity: Activity): void {
    const { turns, onActivity } = this.#scene;
    const before = this.#working;
    this.#working = activity.state === 'running' || activity.state === 'requires_action';
    if (this.#sense !== 'live') return;
    // What it did unasked is over as soon as it says so.
    if (before && !this.#working && turns.current?.sort === 'background') this.#settle();
    onActivity(activity);
  }

  /** False when the news belongs to no turn that could show it. */
  #makeTurn(news: Update, isPrompt: boolean): boolean {
    const { turns } = this.#scene;
    if (this.#sense === 'record') {
      if (this.#prompt || !turns.current) this.#recordTurn();
      return true;
    }
    if (turns.current?.sort === 'prompt') return true;
    if ('toolCallId' in news && turns.isPast(news.toolCallId) && news.sessionUpdate === 'tool_call_update') return false;
    if (isPrompt) return false;
    if (!turns.current) turns.begin(this.#scene.newId(), 'background', []);
    if (this.#working) clearTimeout(this.#quiet);
    else this.#wait(BACKGROUND_QUIET);
    return true;
  }

  #recordPrompt(news: Update): void {
    if (news.sessionUpdate === 'user_message_chunk') this.#recordBlock(news.content, news.messageId ?? undefined);
    if (news.sessionUpdate !== 'message') return;
    // A message said whole takes the place of its pieces.
    if (this.#prompt?.messageId === news.messageId && news.content) this.#prompt.content = [];
    for (const block of news.content ?? []) this.#recordBlock(block, news.messageId);
  }

  #recordBlock(block: ContentBlock, messageId: string | undefined): void {
    const content = toContent(block);
    if (content.type === 'text' && isReminder(content.text)) return;
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

  #emit(events: readonly SessionEvent[]): void {
    for (const event of events) this.#scene.growth.emit(event);
  }

  /** Once per kind: agents send some of these all the time. */
  #note(what: string): void {
    if (this.#strange.has(what) || this.#strange.size >= 100) return;
    this.#strange.add(what);
    this.#scene.log.info(`Left aside: ${what}`);
  }
}

interface Frame {
  readonly sessionId: string;
  readonly update: { readonly sessionUpdate: string };
}

/** The update itself is checked by its kind. */
function isFrame(params: unknown): params is Frame {
  const { sessionId, update } = (params ?? {}) as { readonly sessionId?: unknown; readonly update?: unknown };
  if (typeof sessionId !== 'string' || sessionId === '' || sessionId.length > LONGEST_ID) return false;
  return typeof update === 'object' && update !== null && 'sessionUpdate' in update && typeof update.sessionUpdate === 'string';
}

interface TextNews {
  readonly sessionUpdate?: unknown;
  readonly messageId?: unknown;
  readonly content?: { readonly type?: unknown; readonly text?: unknown } | null;
}
