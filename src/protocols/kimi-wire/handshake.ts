import { t } from '../../base/l10n.ts';
import { type Log, messageOf } from '../../base/log.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Answer } from '../../session/intents.ts';
import type { Command, Question, ToolOffer } from '../../session/model.ts';
import { failureOf } from '../../transport/jsonrpc.ts';
import { junkWhileOpening } from '../junk.ts';
import type { Tool } from '../ports.ts';
import { programOf } from './launch.ts';
import type { Peer } from './peer.ts';
import { codes, type InitializeResult, NEWEST_VERSION } from './schema.ts';
import { offerable, outcome, renamed, toExternal } from './tools.ts';
import { isNewer, LEGACY, parseVersion, type Version } from './version.ts';

/** What the two ends know of each other after the handshake. */
export interface Greeting {
  readonly version: Version;
  /** There was no handshake: prompts, approvals and cancelling work, the rest does not (wire.md §3). */
  readonly legacy: boolean;
  readonly server?: { readonly name: string; readonly version?: string };
  readonly commands: readonly Command[];
  readonly tools: readonly Tool[];
  readonly offer: ToolOffer;
}

export interface HandshakeDeps {
  readonly peer: Peer;
  readonly client: { readonly name: string; readonly version: string };
  readonly tools: readonly Tool[];
  readonly emit: (event: SessionEvent) => void;
  readonly newId: () => string;
  readonly log: Log;
  readonly command: string;
  /** Milliseconds: when to say that it takes its time, and when to ask what to do. */
  readonly limits: { readonly notes: readonly number[]; readonly silence: number };
  /** True when the program itself says that it is from before the handshake; asked once it has been silent for the first note's time. */
  readonly isLegacy: () => Promise<boolean>;
  readonly restart: () => void;
}

const NO_TOOLS: ToolOffer = { accepted: [], rejected: [] };
const wait = (): string => t('Keep waiting');
const again = (): string => t('Start it again');
const without = (): string => t('Go on without the handshake (old versions)');

/** `initialize`, with everything that servers have been seen to answer, and not to answer (wire.md §3). Rejects only when it cannot go on. */
export class Handshake {
  readonly #deps: HandshakeDeps;
  readonly #timers = new Set<NodeJS.Timeout>();
  #askId: string | undefined;
  #goLegacy: () => void = () => {};
  #done = false;

  constructor(deps: HandshakeDeps) {
    this.#deps = deps;
  }

  async run(): Promise<Greeting> {
    const silent = new Promise<Greeting>((resolve) => {
      this.#goLegacy = () => resolve(legacyGreeting());
    });
    this.#deps.emit({ type: 'link.opening', note: t('Starting {0}', programOf(this.#deps.command)) });
    for (const ms of this.#deps.limits.notes) this.#later(ms, () => this.#stillWaiting(ms));
    this.#later(this.#deps.limits.silence, () => this.#ask());
    try {
      return await Promise.race([this.#greet(), silent]);
    } finally {
      this.dispose();
    }
  }

  /** True when the ask was the handshake's own. */
  answer(askId: string, answer: Answer): boolean {
    if (askId !== this.#askId) return false;
    this.#closeAsk('answered');
    const chosen = answer.kind === 'fields' ? answer.values.what?.[0] : undefined;
    if (chosen === again()) this.#deps.restart();
    else if (chosen === without()) this.#goLegacy();
    else this.#later(this.#deps.limits.silence, () => this.#ask());
    return true;
  }

  dispose(): void {
    this.#done = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#closeAsk('withdrawn');
  }

  async #greet(): Promise<Greeting> {
    const { offered, refused } = offerable(this.#deps.tools);
    let tools = offered;
    let result: InitializeResult;
    try {
      result = await this.#initialize(tools);
    } catch (error) {
      const failed = failureOf(error);
      if (failed?.code === codes.unknownMethod) return legacyGreeting();
      if (failed?.code !== codes.badParams || tools.length === 0) throw error;
      this.#notice(t('The agent refused the editor tools, so it works without them: {0}', failed.message.split('\n', 1)[0] ?? ''));
      result = await this.#initialize([]);
      return this.#greeting([], result, { accepted: [], rejected: tools.map(({ name }) => ({ name, reason: failed.message })) });
    }
    let offer = outcome(tools, result);
    const again = renamed(tools, result);
    if (again.length > 0) {
      const second = await this.#initialize(again).catch((error: unknown) => {
        this.#deps.log.warn(`Offering tools under other names failed: ${messageOf(error)}`);
        return undefined;
      });
      if (second) {
        const { accepted, rejected } = outcome(again, second);
        const taken = new Set(again.map((tool) => tool.name.replace(/^ide_/, '')));
        offer = {
          accepted: [...offer.accepted, ...accepted],
          rejected: [...offer.rejected.filter((one) => !taken.has(one.name)), ...rejected],
        };
        tools = [...tools, ...again];
      }
    }
    return this.#greeting(tools, result, { accepted: offer.accepted, rejected: [...offer.rejected, ...refused] });
  }

  #initialize(tools: readonly Tool[]): Promise<InitializeResult> {
    return this.#deps.peer.call('initialize', {
      protocol_version: NEWEST_VERSION,
      client: { ...this.#deps.client },
      capabilities: { supports_question: true, supports_plan_mode: true },
      ...(tools.length > 0 ? { external_tools: toExternal(tools) } : {}),
    });
  }

  #greeting(tools: readonly Tool[], result: InitializeResult, offer: ToolOffer): Greeting {
    // A server that shook hands is at least 1.1.
    const theirs = parseVersion(result.protocol_version ?? '') ?? { major: 1, minor: 1 };
    const ours = parseVersion(NEWEST_VERSION) ?? theirs;
    if (theirs.major !== ours.major)
      this.#notice(t('The agent speaks Wire {0}; this is made for {1}. It may misbehave.', result.protocol_version ?? '?', NEWEST_VERSION));
    else if (isNewer(theirs, ours)) this.#deps.log.info(`The agent speaks Wire ${result.protocol_version}, newer than ${NEWEST_VERSION}.`);
    return {
      // Servers do not negotiate: the client lowers itself.
      version: isNewer(theirs, ours) || theirs.major !== ours.major ? ours : theirs,
      legacy: false,
      ...(result.server
        ? { server: { name: result.server.name, ...(result.server.version ? { version: result.server.version } : {}) } }
        : {}),
      commands: (result.slash_commands ?? []).map(({ name, description, aliases }) => ({
        name,
        description: description ?? '',
        aliases: aliases ?? [],
      })),
      tools,
      offer,
    };
  }

  #stillWaiting(ms: number): void {
    const { firstJunk } = this.#deps.peer;
    this.#deps.emit(
      firstJunk === undefined
        ? {
            type: 'link.opening',
            note: t('{0} is starting ({1} s). It can take half a minute.', programOf(this.#deps.command), Math.round(ms / 1000)),
          }
        : junkWhileOpening(firstJunk, 'Wire'),
    );
    if (ms !== this.#deps.limits.notes[0]) return;
    this.#deps.isLegacy().then(
      (legacy) => legacy && !this.#done && this.#goLegacy(),
      (error: unknown) => this.#deps.log.warn(messageOf(error)),
    );
  }

  #ask(): void {
    const id = this.#deps.newId();
    this.#askId = id;
    const label = t('"{0}" runs but has not answered for {1} s.', this.#deps.command, Math.round(this.#deps.limits.silence / 1000));
    const choices = [wait(), again(), without()].map((label) => ({ label }));
    const ask: Question = { kind: 'question', id, ours: true, title: t('The agent is silent'), fields: [{ id: 'what', label, choices }] };
    this.#deps.emit({ type: 'ask.opened', ask });
  }

  #closeAsk(how: 'answered' | 'withdrawn'): void {
    if (this.#askId === undefined) return;
    this.#deps.emit({ type: 'ask.closed', askId: this.#askId, how });
    this.#askId = undefined;
  }

  #notice(text: string): void {
    this.#deps.emit({ type: 'notice', notice: { level: 'warn', text } });
  }

  #later(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }
}

function legacyGreeting(): Greeting {
  return { version: LEGACY, legacy: true, commands: [], tools: [], offer: NO_TOOLS };
}
