import type { Frontend } from './frontend.ts';
import { type HistoryMessage, type Model, type ModelTool, resultText, type TokenUsage, textOf, type UserPart } from './models/model.ts';
import type { Workspace } from './workspace/paths.ts';

/** The messages a model sees, and how large they are. Calls `onChange` at every addition and replacement. */
export class History {
  /** Every call id there has ever been, also of what is forgotten: clients key their cards by it. */
  readonly callIds = new Set<string>();
  #messages: HistoryMessage[];
  readonly #onChange: (change: HistoryChange) => void;
  /** The service's token count for the first `at` messages. */
  #measured = { at: 0, tokens: 0 };

  constructor(messages: readonly HistoryMessage[] = [], onChange: (change: HistoryChange) => void = () => {}) {
    this.#messages = [...messages];
    this.#onChange = onChange;
    for (const message of messages) this.#remember(message);
  }

  get messages(): readonly HistoryMessage[] {
    return this.#messages;
  }

  add(message: HistoryMessage): void {
    this.#messages.push(message);
    this.#remember(message);
    this.#onChange({ type: 'added', message });
  }

  replace(messages: readonly HistoryMessage[]): void {
    this.#messages = [...messages];
    this.#measured = { at: 0, tokens: 0 };
    this.#onChange({ type: 'replaced', messages });
  }

  /** Replaces images and audio that the model cannot read with text: kept, they would make every later request fail as well. */
  forgetMedia(): void {
    const hasMedia = (message: HistoryMessage): boolean =>
      message.role === 'user' ? message.parts.some((part) => part.type !== 'text') : message.role === 'tool' && message.media !== undefined;
    if (this.#messages.some(hasMedia)) this.replace(this.#messages.map(withoutMedia));
  }

  #remember(message: HistoryMessage): void {
    if (message.role === 'assistant') for (const call of message.calls) this.callIds.add(call.id);
  }

  /** The service's own count for everything up to and with the answer it has just given. */
  measured(usage: TokenUsage): void {
    this.#measured = { at: this.#messages.length, tokens: usage.input + usage.output };
  }

  /** Tokens: the last real count and an estimate of what came after it. */
  get tokens(): number {
    return this.#measured.tokens + estimate(this.#messages.slice(this.#measured.at));
  }
}

export type HistoryChange =
  | { readonly type: 'added'; readonly message: HistoryMessage }
  | { readonly type: 'replaced'; readonly messages: readonly HistoryMessage[] };

/** About four characters a token in Latin script and one in Chinese, Japanese and Korean. */
function estimate(messages: readonly HistoryMessage[]): number {
  let tokens = 0;
  for (const message of messages) {
    tokens += 4;
    if (message.role === 'user') for (const part of message.parts) tokens += part.type === 'text' ? tokensOf(part.text) : 800;
    else tokens += tokensOf(message.role === 'tool' ? message.message + message.text : message.text);
    if (message.role === 'assistant') for (const call of message.calls) tokens += tokensOf(call.name) + tokensOf(call.input);
  }
  return tokens;
}

export function tokensOf(text: string): number {
  const wide = text.match(/[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]/g)?.length ?? 0;
  return Math.ceil(wide + (text.length - wide) / 4);
}

function withoutMedia(message: HistoryMessage): HistoryMessage {
  if (message.role === 'user') return { ...message, parts: message.parts.map((part) => (part.type === 'text' ? part : inWords(part))) };
  if (message.role !== 'tool' || !message.media) return message;
  const { media, ...rest } = message;
  return { ...rest, text: [message.text, ...media.map((part) => inWords(part).text)].join('\n') };
}

function inWords({ type }: UserPart): { readonly type: 'text'; readonly text: string } {
  return { type: 'text', text: `[${type} the model could not take]` };
}

// --- compaction

export interface CompactionContext {
  readonly frontend: Frontend;
  readonly model: Model;
  readonly history: History;
  readonly signal: AbortSignal;
  readonly workspace: Workspace;
  readonly system: () => Promise<string>;
  readonly offers: () => readonly ModelTool[];
}

/** The share of the context at which the history is shortened. */
const NEAR = 0.8;
/** The share of the context that the messages kept as they are may fill. */
const KEPT = 0.25;

const REQUEST =
  'Summarise this conversation so that the work can go on from the summary alone: what the user wants, what was decided, what was done (with file paths and names), what was found, what is left to do. Be complete and brief. Do not call tools.';

/** Shortens the history when it nears the size of the model's context. */
export async function compactWhenNear(context: CompactionContext): Promise<void> {
  if (context.history.tokens < context.model.contextSize * NEAR) return;
  await compact(context);
}

/** Puts a summary in the place of all but the last messages. False when there is too little to shorten. */
export async function compact(context: CompactionContext, hint = ''): Promise<boolean> {
  const messages = context.history.messages;
  const cut = cutOf(messages, context.model.contextSize * KEPT);
  if (cut === 0) return false;
  await context.frontend.hook('PreCompact', '', {}, context.signal);
  context.frontend.emit({ type: 'compaction.started' });
  try {
    const summary = await summarise(context, messages.slice(0, cut), hint);
    context.history.replace([...summaryMessages(summary, messages[cut]?.role), ...messages.slice(cut)]);
  } finally {
    context.frontend.emit({ type: 'compaction.ended' });
  }
  context.frontend.emit({ type: 'status', contextTokens: context.history.tokens, contextSize: context.model.contextSize });
  await context.frontend.hook('PostCompact', '', {}, context.signal);
  return true;
}

/** Where the kept tail begins: never at a result, which would lose its call. 0 when nothing can go. */
function cutOf(messages: readonly HistoryMessage[], most: number): number {
  if (messages.length < 2) return 0;
  for (let at = 1; at < messages.length; at += 1) {
    if (messages[at]?.role !== 'tool' && estimate(messages.slice(at)) <= most) return at;
  }
  return messages.length;
}

/** Messages before the kept tail, chosen so that the roles alternate. */
function summaryMessages(summary: string, next: HistoryMessage['role'] | undefined): readonly HistoryMessage[] {
  const text = `<summary of the conversation so far>\n${summary}\n</summary>`;
  if (next === 'user') {
    return [
      { role: 'user', parts: [{ type: 'text', text }] },
      { role: 'assistant', text: 'Understood. I go on from this summary.', calls: [] },
    ];
  }
  return [{ role: 'user', parts: [{ type: 'text', text: `${text}\n\nGo on with the work from here.` }] }];
}

async function summarise(context: CompactionContext, messages: readonly HistoryMessage[], hint: string): Promise<string> {
  const transcript = transcriptOf(messages, context.model.contextSize);
  const request = hint === '' ? REQUEST : `${REQUEST} Keep above all: ${hint}`;
  let text = '';
  const history: readonly HistoryMessage[] = [{ role: 'user', parts: [{ type: 'text', text: `${transcript}\n\n${request}` }] }];
  for await (const piece of context.model.answer(
    { cwd: context.workspace.cwd, system: 'You summarise conversations.', history, tools: [] },
    context.signal,
  )) {
    if (piece.type === 'text') text += piece.text;
  }
  context.signal.throwIfAborted();
  return text.trim() === '' ? transcript.slice(-4000) : text.trim();
}

/** The conversation as text, long results cut, small enough for the same model. */
function transcriptOf(messages: readonly HistoryMessage[], contextSize: number): string {
  for (let most = 4000; ; most = Math.floor(most / 2)) {
    const text = messages.map((message) => line(message, most)).join('\n\n');
    if (most < 100 || estimate([{ role: 'user', parts: [{ type: 'text', text }] }]) < contextSize * 0.6) return text;
  }
}

function line(message: HistoryMessage, most: number): string {
  if (message.role === 'user') return `USER: ${cut(textOf(message.parts), most * 2)}`;
  if (message.role === 'tool') return `RESULT of ${message.name}: ${cut(resultText(message), most)}`;
  const calls = message.calls.map((call) => `\nCALL ${call.name} ${cut(call.input, most)}`).join('');
  return `ASSISTANT: ${cut(message.text, most * 2)}${calls}`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most / 2)} ... ${text.slice(-most / 2)}`;
}
