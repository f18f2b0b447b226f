import type { Content, Turn } from '../../session/model.ts';
import type { Tool } from '../ports.ts';
import { declared } from './declare.ts';
import { closeOpenCalls, fromTurns, needsVersion6, posted, saysNothing, userMessage } from './history.ts';
import { type Kept, toKeep } from './keep.ts';
import type { Post } from './post.ts';
import type { UiMessage } from './schema.ts';
import type { Server } from './server.ts';
import { isTool } from './toolParts.ts';

/** From here on a history is worth a warning, in bytes. */
const LARGE = 5 * 1024 * 1024;

/** What outlives a turn: the messages, and what was told of them. */
export class Conversation {
  readonly id: string;
  readonly messages: UiMessage[];
  /** Calls that have begun: none begins twice. */
  readonly started = new Set<string>();
  /** Calls and approvals of this turn whose outcome the server has been told. */
  readonly delivered = new Set<string>();
  /** Tools of the server's that the user allowed for the whole conversation. */
  readonly allowed = new Set<string>();
  readonly #server: Server;
  readonly #newId: () => string;
  /** Turn -> the message of the user's that began it. */
  readonly #users = new Map<string, string>();
  #warned = false;

  constructor(id: string, server: Server, newId: () => string, past: readonly Turn[]) {
    this.id = id;
    this.messages = fromTurns(past, newId, this.#users);
    this.#server = server;
    this.#newId = newId;
  }

  /** Adds what the user said; open calls of earlier messages are closed first. */
  say(turnId: string, content: readonly Content[]): Post {
    closeOpenCalls(this.messages);
    this.delivered.clear();
    const message = userMessage(this.#newId(), content);
    this.#users.set(turnId, message.id);
    this.messages.push(message);
    return { trigger: 'submit-message', continues: false };
  }

  /** Takes back an earlier turn of the user's and everything after it, and says this in its place. undefined: there is no such turn. */
  sayInstead(replaced: string, turnId: string, content: readonly Content[]): Post | undefined {
    const id = this.#users.get(replaced);
    const at = this.messages.findIndex((message) => message.id === id);
    const old = this.messages[at];
    if (id === undefined || !old) return undefined;
    const message = userMessage(id, content);
    const [answer] = this.messages.slice(at + 1);
    const again = answer?.role === 'assistant' && JSON.stringify(message) === JSON.stringify(old);
    this.messages.splice(at, this.messages.length, message);
    closeOpenCalls(this.messages);
    this.delivered.clear();
    this.#users.delete(replaced);
    this.#users.set(turnId, id);
    return { trigger: again ? 'regenerate-message' : 'submit-message', messageId: again ? answer.id : id, continues: false };
  }

  /** The same message of the user's, under another turn. */
  renamed(turnId: string, now: string): void {
    const id = this.#users.get(turnId);
    this.#users.delete(turnId);
    if (id !== undefined) this.#users.set(now, id);
  }

  /** The message the next response goes on with, or a new one. */
  assistant(continues: boolean): UiMessage {
    const last = this.messages.at(-1);
    if (continues && last?.role === 'assistant') return last;
    const message: UiMessage = { id: this.#newId(), role: 'assistant', parts: [] };
    this.messages.push(message);
    return message;
  }

  /**
   * What the turn has to leave behind, so that its messages can be posted as they were. `from`: where they begin when the user said nothing;
   * `unsent`: the request that failed and told something.
   */
  keep(turnId: string, from: number, unsent?: Post): Kept | null {
    const user = this.#users.get(turnId);
    const begin = user === undefined ? from : this.messages.findIndex((message) => message.id === user) + 1;
    return toKeep(user, this.messages.slice(begin), unsent);
  }

  /** The last message waits for a user: its approvals can be asked for again. */
  get asks(): boolean {
    const last = this.messages.at(-1);
    return last?.role === 'assistant' && last.parts.some((part) => isTool(part) && part.state === 'approval-requested');
  }

  /** Forgets an answer that is about to come again. */
  dropAnswer(): void {
    if (this.messages.at(-1)?.role === 'assistant') this.messages.pop();
  }

  /** A message that stayed empty was never said. */
  dropEmpty(): void {
    const last = this.messages.at(-1);
    if (last?.role === 'assistant' && saysNothing(last)) this.messages.pop();
  }

  /** Whether writing the history for version 5 could change a refusal; from now on it is. */
  learnVersion5(): boolean {
    if (this.#server.v5 || !needsVersion6(this.messages)) return false;
    this.#server.learned.v5 = true;
    return true;
  }

  body(post: Post, tools: readonly Tool[]): string {
    const { settings, v5 } = this.#server;
    const { body, history, system, errorsAsOutput } = settings;
    const messages = posted(this.messages, { v5, errorsAsOutput });
    return JSON.stringify({
      ...body,
      ...declared(tools, settings.tools),
      ...(system === undefined ? {} : { system }),
      ...post.extra,
      id: this.id,
      sessionId: this.id,
      ...(history === 'last' ? { message: messages.at(-1) } : { messages }),
      trigger: post.trigger,
      ...(post.messageId === undefined ? {} : { messageId: post.messageId }),
    });
  }

  /** True once, when the history has grown large. */
  grownLarge(body: string): boolean {
    if (this.#warned || body.length < LARGE) return false;
    this.#warned = true;
    return true;
  }
}
