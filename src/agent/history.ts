import type { Message, TokenUsage, UserPart } from './models/model.ts';

/** The messages a model sees, and how large they are. Calls `onChange` at every addition and replacement. */
export class History {
  /** Every call id there has ever been, also of what is forgotten: clients key their cards by it. */
  readonly callIds = new Set<string>();
  #messages: Message[];
  readonly #onChange: (change: HistoryChange) => void;
  /** The service's token count for the first `at` messages. */
  #measured = { at: 0, tokens: 0 };

  constructor(messages: readonly Message[] = [], onChange: (change: HistoryChange) => void = () => {}) {
    this.#messages = [...messages];
    this.#onChange = onChange;
    for (const message of messages) this.#remember(message);
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  add(message: Message): void {
    this.#messages.push(message);
    this.#remember(message);
    this.#onChange({ type: 'added', message });
  }

  replace(messages: readonly Message[]): void {
    this.#messages = [...messages];
    this.#measured = { at: 0, tokens: 0 };
    this.#onChange({ type: 'replaced', messages });
  }

  /** Replaces images and audio that the model cannot read with text: kept, they would make every later request fail as well. */
  forgetMedia(): void {
    const hasMedia = (message: Message): boolean =>
      message.role === 'user' ? message.parts.some((part) => part.type !== 'text') : message.role === 'tool' && message.media !== undefined;
    if (this.#messages.some(hasMedia)) this.replace(this.#messages.map(withoutMedia));
  }

  #remember(message: Message): void {
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
  | { readonly type: 'added'; readonly message: Message }
  | { readonly type: 'replaced'; readonly messages: readonly Message[] };

/** About four characters a token in Latin script and one in Chinese, Japanese and Korean. */
export function estimate(messages: readonly Message[]): number {
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

function withoutMedia(message: Message): Message {
  if (message.role === 'user') return { ...message, parts: message.parts.map((part) => (part.type === 'text' ? part : inWords(part))) };
  if (message.role !== 'tool' || !message.media) return message;
  const { media, ...rest } = message;
  return { ...rest, text: [message.text, ...media.map((part) => inWords(part).text)].join('\n') };
}

function inWords({ type }: UserPart): { readonly type: 'text'; readonly text: string } {
  return { type: 'text', text: `[${type} the model could not take]` };
}
