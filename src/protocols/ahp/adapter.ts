import { t } from '../../base/l10n.ts';
import { pathOfUri, uriOfPath } from '../../base/paths.ts';
import type { Intent } from '../../session/intents.ts';
import type { Channel } from '../../transport/channel.ts';
import { rpcLink } from '../../transport/rpcLink.ts';
import type { Adapter, AdapterContext, Hint, Launch, Past } from '../adapter.ts';
import { type Driver, drive } from '../driver.ts';
import { keyOfFile } from '../paths.ts';
import { runTool } from '../runTool.ts';
import { ROOT } from './codec.ts';
import { type AhpState, ahpMachine, type Limits, newAhp, type Setup } from './machine.ts';
import { answers } from './schema.ts';

export type HostLaunch = Extract<Launch, { kind: 'http' }>;

export const LIMITS: Limits = {
  silence: 30_000,
  contents: 5_000,
  reconnect: [300, 1_000, 3_000, 6_000, 10_000, 15_000],
  offerRestart: 10_000,
  restart: 30_000,
};
/** Pages of a list of sessions. */
const PAGES = 20;

export interface World {
  readonly connect: () => Channel;
  readonly limits: Limits;
}

/** One session of an agent host, which goes on when this lets go of it. */
export class AhpAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #launch: HostLaunch;
  readonly #driver: Driver<AhpState>;

  constructor(launch: HostLaunch, context: AdapterContext, { connect, limits }: World) {
    this.#launch = launch;
    this.#driver = drive(ahpMachine, newAhp(`${context.newId()}.`, setupOf(launch, context, limits)), {
      now: context.now,
      emit: context.emit,
      log: context.log,
      links: { host: (_params, events) => rpcLink(connect(), events, { log: context.log, trace: context.trace }) },
      ports: {
        tool: ({ name, input }: { readonly name: string; readonly input: string }, signal) =>
          runTool(context.ports.tools, { name, input, signal, log: context.log }),
      },
    });
    this.ended = this.#driver.ended;
    context.signal.addEventListener('abort', () => this.dispose(), { once: true });
    this.#driver.feed({ on: 'start' });
  }

  send(intent: Intent): void {
    this.#driver.feed({ on: 'intent', intent });
  }

  async hints(text: string, cursor: number): Promise<readonly Hint[]> {
    const { session } = this.#driver.state;
    if (!session || text === '') return [];
    const params = { kind: 'userMessage', channel: session.uri, text, offset: cursor };
    const { items } = answers.completions.parse(await this.#driver.request('host', 'completions', params));
    return items.map(({ insertText, rangeStart = cursor, rangeEnd = cursor, attachment }) => {
      const description = attachment?._meta?.description;
      return {
        label: attachment?.label ?? insertText,
        value: text.slice(0, rangeStart) + insertText + text.slice(rangeEnd),
        ...(typeof description === 'string' ? { description } : {}),
      };
    });
  }

  /** The host's other sessions with this agent, in this folder. */
  async history(signal?: AbortSignal): Promise<readonly Past[]> {
    const { session, agent } = this.#driver.state;
    const found: Past[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < PAGES; page++) {
      const params = { channel: ROOT, ...(cursor === undefined ? {} : { cursor }) };
      const { items, nextCursor } = answers.listSessions.parse(await this.#driver.request('host', 'listSessions', params, signal));
      for (const { resource, provider, title, modifiedAt, workingDirectories } of items) {
        const isHere = workingDirectories.some((one) => keyOfFile(pathOfUri(one)) === keyOfFile(this.#launch.cwd));
        if (resource === session?.uri || provider !== agent?.provider || !isHere) continue;
        const at = Date.parse(modifiedAt);
        found.push({ key: resource, title, ...(Number.isNaN(at) ? {} : { at }) });
      }
      if (nextCursor === undefined || nextCursor === cursor) break;
      cursor = nextCursor;
    }
    return found;
  }

  dispose(): void {
    this.#driver.feed({ on: 'leave' });
  }
}

function setupOf(launch: HostLaunch, { client, resume, past = [], ports, newId }: AdapterContext, limits: Limits): Setup {
  return {
    provider: launch.options?.agent ?? null,
    folder: uriOfPath(launch.cwd),
    resume: resume ? { key: resume.key, history: resume.history } : null,
    shown: resume && !resume.history ? past.map(({ id, cutOff, status }) => ({ id, whole: !cutOff && status !== 'running' })) : [],
    newId: newId(),
    clientId: newId(),
    client: { name: client.name, version: client.version },
    tools: ports.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    limits,
  };
}

/** The address of the host's WebSocket, or why it is not used. */
export function socketUrl(url: string, isNear: (host: string) => boolean): { readonly url: string } | { readonly refusal: string } {
  const { protocol, host, href } = new URL(url);
  if (protocol === 'http:' && !isNear(host))
    return { refusal: t('The connection to {0} is not encrypted: messages, keys and what tools find can be read on the way.', host) };
  return { url: href.replace(/^http/, 'ws') };
}
