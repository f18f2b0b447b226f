import { StringDecoder } from 'node:string_decoder';
import type { SessionEvent } from '../../session/events.ts';
import type { Update } from './schema.ts';

/** Terminals the agent runs itself and tells of in updates, byte by byte: a character may come in two pieces. */
export class AgentTerminals {
  readonly #decoders = new Map<string, StringDecoder>();
  readonly #stoppable = new Set<string>();

  /** True when the agent takes a request to end its command. */
  stops(id: string): boolean {
    return this.#stoppable.has(id);
  }

  take({ terminalId: id, command, output, data, stops, exit }: Extract<Update, { sessionUpdate: 'terminal' }>): readonly SessionEvent[] {
    // What has been said to be the whole output replaces what came before.
    if (output !== undefined) this.#decoders.delete(id);
    const decoder = this.#decoders.get(id) ?? new StringDecoder('utf8');
    this.#decoders.set(id, decoder);
    const grew = decoder.write(Buffer.from(output ?? data ?? '', 'base64')) + (exit ? decoder.end() : '');
    if (stops) this.#stoppable.add(id);
    if (stops === false || exit) this.#stoppable.delete(id);
    return [
      {
        type: 'terminal.changed',
        terminal: {
          id,
          ...(command === undefined ? {} : { command }),
          ...(stops === undefined ? {} : { stops }),
          ...(exit === undefined ? {} : { exit }),
        },
        ...(grew === '' ? {} : { delta: grew }),
        ...(output === undefined ? {} : { reset: true as const }),
      },
    ];
  }
}
