import type { Disposable } from '../base/lifetime.ts';
import type { Log } from '../base/log.ts';
import type { SessionEvent } from '../session/events.ts';
import type { Intent } from '../session/intents.ts';
import type { Turn } from '../session/model.ts';
import type { Ports } from './ports.ts';

/** One way of talking to agents. All that the rest of the program knows about a protocol is this object. */
export interface Protocol {
  readonly title: string;
  /** The transport of its agents; `either` leaves it to the profile. */
  readonly launch: Launch['kind'] | 'either';
  /**
   * Starts at once and never throws for what the agent does: the link's fate comes as `link.*` events. Intents are taken after `link.ready`;
   * `cancel` and `dispose` at any time.
   */
  open(launch: Launch, context: AdapterContext): Adapter;
  /** Looks for its agents on this machine, by asking programs what they are; changes nothing and never rejects. */
  readonly discover?: (search: AgentSearch, signal: AbortSignal) => Promise<readonly InstalledAgent[]>;
  /** Lists the conversations a host runs, without opening any of them. Rejects when the host cannot be asked. */
  readonly running?: (launch: Launch, context: Pick<AdapterContext, 'client' | 'log' | 'signal'>) => Promise<readonly RunningSession[]>;
  /** Sends an order about a conversation or an agent to a host, without opening any. Rejects with the host's message. */
  readonly order?: (launch: Launch, order: HostOrder, context: Pick<AdapterContext, 'client' | 'log' | 'signal'>) => Promise<void>;
}
/** `environment`: variables for an agent's next start; an undefined value takes one away. */
export type HostOrder =
  | { readonly kind: 'rename'; readonly key: string; readonly title: string }
  | { readonly kind: 'delete'; readonly key: string }
  | { readonly kind: 'environment'; readonly agent: string; readonly env: Readonly<Record<string, string | undefined>> };
/** A conversation that goes on in a host of its own. */
export interface RunningSession extends Past {
  /** The host's name for the agent, as in the launch's options. */
  readonly agent: string;
  readonly agentName: string;
  readonly cwd: string;
  readonly state: 'idle' | 'busy' | 'asking' | 'failed';
}
/** Where to look for agents: the PATH, and what the user's own profiles start. Programs are asked in `cwd`. */
export interface AgentSearch {
  readonly cwd: string;
  readonly path: string;
  readonly commands: readonly string[];
}
/** An agent that is installed: what to start, and the protocol it speaks, which need not be the one that was looked for. */
export interface InstalledAgent {
  readonly protocol: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly name: string;
  readonly version?: string;
}
export type Launch =
  | {
      readonly kind: 'process';
      readonly command: string;
      readonly args: readonly string[];
      /** Added to the environment the child inherits; an undefined value takes a variable away. */
      readonly env: Readonly<Record<string, string | undefined>>;
      readonly cwd: string;
      /** Further folders it may work in. */
      readonly folders?: readonly string[];
      readonly options?: LaunchOptions;
    }
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly cwd: string;
      readonly options?: LaunchOptions;
    };
export type ProcessLaunch = Extract<Launch, { kind: 'process' }>;
/** Settings of a profile that only its protocol understands. */
export type LaunchOptions = Readonly<Record<string, string>>;

/** The environment of an adapter: event sink, ports, clock, id source, abort signal. */
export interface AdapterContext {
  readonly emit: (event: SessionEvent) => void;
  readonly ports: Ports;
  /** The user's name for the agent. */
  readonly name?: string;
  readonly client: { readonly name: string; readonly version: string };
  readonly now: () => number;
  readonly newId: () => string;
  readonly signal: AbortSignal;
  readonly trace: (way: 'in' | 'out', message: unknown) => void;
  readonly log: Log;
  /** The launch as the agent's profile reads now; settings may have changed since. Rejects like the first one. */
  readonly launch?: () => Promise<Launch>;
  /** An earlier conversation to go on with. */
  readonly resume?: Resume;
  /** The part of this conversation that the session already shows, for protocols whose agents keep nothing. */
  readonly past?: readonly Turn[];
}
export interface Resume {
  /** The agent's own name for it. */
  readonly key: string;
  /** True when the session has no transcript of it yet: the agent's record of it is shown. */
  readonly history: boolean;
  /** A prompt of the user waits: it begins a turn of its own, in place of one that broke off. */
  readonly isPrompted?: boolean;
}

/** send never throws and returns nothing: what comes of it comes back as events. A capability is a member that is there or not. */
export interface Adapter extends Disposable {
  send(intent: Intent): void;
  /** Settles when the agent is gone: process ended, sockets closed. Called after dispose. */
  readonly ended: Promise<void>;
  /** Completes the text. A newer request, or one with an empty text, cancels an older one. Rejects with the agent's reason. */
  readonly hints?: (text: string, cursor: number) => Promise<readonly Hint[]>;
  /** Stops when the signal fires, where the protocol supports that. */
  readonly history?: (signal?: AbortSignal) => Promise<readonly Past[]>;
  /** Deletes an earlier conversation. */
  readonly forget?: (key: string, signal?: AbortSignal) => Promise<void>;
  /** Copies this conversation and gives the copy's key. */
  readonly fork?: (signal?: AbortSignal) => Promise<string>;
  /** Makes the agent forget who the user is. */
  readonly signOut?: () => Promise<void>;
}
export interface Hint {
  readonly label: string;
  readonly value: string;
  readonly description?: string;
}
/** An earlier conversation the agent remembers; `at` in milliseconds since the epoch. */
export interface Past {
  readonly key: string;
  readonly title: string;
  readonly at?: number;
}
