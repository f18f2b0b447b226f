import * as z from 'zod/mini';
import { codes, methods } from '../../../protocols/kimi-wire/schema.ts';
import type { Channel } from '../../../transport/channel.ts';
import { Cancelled, Conversation } from '../../conversation.ts';
import type { Model } from '../../models/model.ts';
import { builtInTools } from '../../tools/builtIn.ts';
import { problemsOf } from '../../tools/tool.ts';
import { NAME, VERSION } from '../../version.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { Encoder, partsOf, wireErrorOf } from './codec.ts';
import { ExternalTools } from './externalTools.ts';
import { type Method, Peer, WireError } from './peer.ts';
import type { Dialect, Feature } from './versions.ts';
import { WireFace } from './wireFace.ts';

export interface WireOptions {
  readonly channel: Channel;
  readonly dialect: Dialect;
  readonly workspace: Workspace;
  readonly model: Model;
}
export interface Served {
  /** Ends the running turn; settles when it is over. */
  end(): Promise<void>;
}

const initializeParams = z.extend(methods.initialize.params, { external_tools: z.nullish(z.array(z.unknown())) });

/** Serves one conversation over Wire (wire.md §4 and §5, seen from the other side). */
export function serveWire(options: WireOptions): Served {
  const server = new WireServer(options);
  return { end: () => server.end() };
}

class WireServer {
  readonly #dialect: Dialect;
  readonly #peer: Peer;
  readonly #face: WireFace;
  readonly #encoder: Encoder;
  readonly #conversation: Conversation;
  readonly #external: ExternalTools;
  #turn: Promise<unknown> | undefined;

  constructor({ channel, dialect, model, workspace }: WireOptions) {
    this.#dialect = dialect;
    this.#encoder = new Encoder(dialect);
    this.#external = new ExternalTools(builtInTools.map((tool) => tool.name));
    this.#peer = new Peer(channel, this.#methods());
    const pipe = {
      event: ({ type, payload }: { type: string; payload: object }) => this.#peer.event(type, payload),
      request: ({ type, payload }: { type: string; payload: object }, id: string, signal: AbortSignal) =>
        this.#peer.request(type, id, payload, signal),
    };
    this.#face = new WireFace(pipe, this.#encoder, dialect, () => this.#external.all);
    this.#conversation = new Conversation({ face: this.#face, model, workspace });
  }

  async end(): Promise<void> {
    this.#conversation.cancel();
    await this.#turn?.catch(() => {});
  }

  #methods(): Readonly<Record<string, Method>> {
    const all: readonly (readonly [string, Feature | undefined, Method])[] = [
      ['initialize', 'initialize', { whole: true, run: (params) => this.#initialize(params) }],
      ['prompt', undefined, { run: (params) => this.#prompt(params) }],
      ['cancel', undefined, { run: async () => this.#cancel() }],
    ];
    return Object.fromEntries(
      all.filter(([, since]) => since === undefined || this.#dialect.has(since)).map(([name, , method]) => [name, method]),
    );
  }

  async #initialize(params: unknown): Promise<object> {
    const { external_tools } = read(initializeParams, params);
    if (this.#turn) throw new WireError(codes.wrongState, 'A turn is in progress');
    const offered = external_tools && external_tools.length > 0 ? await this.#external.offer(external_tools) : undefined;
    return {
      protocol_version: this.#dialect.name,
      server: { name: NAME, version: VERSION },
      slash_commands: this.#conversation.commands.all.map(({ name, description, aliases }) => ({ name, description, aliases })),
      ...(offered ? { external_tools: offered } : {}),
    };
  }

  async #prompt(params: unknown): Promise<object> {
    const { user_input } = read(methods.prompt.params, params);
    const parts = partsOf(user_input);
    if (this.#turn) throw new WireError(codes.wrongState, 'A turn is in progress');
    this.#encoder.expect(user_input);
    const turn = this.#conversation.prompt(parts);
    this.#turn = turn;
    try {
      return await turn;
    } catch (error) {
      if (error instanceof Cancelled) return { status: 'cancelled' };
      throw wireErrorOf(error, this.#dialect);
    } finally {
      this.#turn = undefined;
    }
  }

  #cancel(): object {
    if (!this.#conversation.cancel()) throw new WireError(codes.wrongState, 'No turn is in progress');
    return {};
  }
}

function read<S extends z.ZodMiniType>(schema: S, params: unknown): z.infer<S> {
  const parsed = schema.safeParse(params);
  if (!parsed.success) throw new WireError(codes.badParams, `Bad params: ${problemsOf(parsed.error)}`);
  return parsed.data;
}
