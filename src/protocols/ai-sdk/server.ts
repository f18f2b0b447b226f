import { messageOf } from '../../base/log.ts';
import type { HttpClient } from '../../transport/http.ts';
import type { AdapterContext, Launch } from '../adapter.ts';
import type { Tool } from '../ports.ts';
import type { Exchange } from './exchange.ts';
import { readSettings, type Settings, toolResultUrls } from './settings.ts';

type HttpLaunch = Extract<Launch, { kind: 'http' }>;

/** What conversations have found out about one server; those that follow begin with it. */
export interface Learned {
  /** How it takes results. */
  flow: 'unknown' | 'repost' | 'held';
  /** It refuses what version 5 does not know. */
  v5: boolean;
  /** Where it took a result. */
  resultUrl?: string;
  /** The user was told what goes there. */
  told?: true;
}
/** By address. */
export type Memory = Map<string, Learned>;

/** The server as its profile describes it now, and what was learned of it. */
export class Server {
  settings: Settings;
  /** What cannot be used of the profile, a sentence each. */
  problems: readonly string[];
  readonly #client: HttpClient;
  readonly #scene: AdapterContext;
  readonly #memory: Memory;
  #launch: HttpLaunch;
  /** What a user entered for this server, from the editor's secret storage. */
  #key: string | undefined;

  constructor(launch: HttpLaunch, client: HttpClient, scene: AdapterContext, memory: Memory) {
    this.#launch = launch;
    this.#client = client;
    this.#scene = scene;
    this.#memory = memory;
    ({ settings: this.settings, problems: this.problems } = readSettings(launch));
  }

  get exchange(): Exchange {
    const { log, trace, now } = this.#scene;
    const { headers } = this.settings;
    const own = this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` };
    return { client: this.#client, headers: this.mayHaveKey ? { ...own, ...headers } : headers, log, trace, now };
  }

  /** The editor's tools that this server gets. */
  get lent(): readonly Tool[] {
    const { tools, remoteFileTools = [] } = this.#scene.ports;
    return this.settings.hands ? [...tools, ...remoteFileTools] : tools;
  }

  /** The profile names no authorization of its own, and there is a safe place for one. */
  get mayHaveKey(): boolean {
    const named = Object.keys(this.settings.headers).some((name) => name.toLowerCase() === 'authorization');
    return !named && this.#scene.ports.secrets !== undefined;
  }

  async setKey(key: string): Promise<void> {
    this.#key = key;
    await this.#scene.ports.secrets?.set(this.#keyName, key);
  }

  /** Keys go to the origin they were entered for and to no other. */
  get #keyName(): string {
    return `ai-sdk:${new URL(this.settings.url).origin}`;
  }

  get learned(): Learned {
    const { url } = this.settings;
    const known = this.#memory.get(url) ?? { flow: 'unknown', v5: false };
    this.#memory.set(url, known);
    return known;
  }

  /** It gets nothing that version 5 does not know. */
  get v5(): boolean {
    return this.settings.compat === 'v5' || this.learned.v5;
  }

  /** Where results of held calls may be taken, in the order they are tried. */
  get resultUrls(): readonly string[] {
    const { resultUrl } = this.learned;
    const all = toolResultUrls(this.settings);
    return resultUrl !== undefined && all.includes(resultUrl) ? [resultUrl] : all;
  }

  /** Reads the profile again: a key may have been set since, or an address mended. Never rejects. */
  async reread(): Promise<void> {
    try {
      const launch = await this.#scene.launch?.();
      if (launch?.kind === 'http' && JSON.stringify(launch) !== JSON.stringify(this.#launch)) {
        this.#launch = launch;
        ({ settings: this.settings, problems: this.problems } = readSettings(launch));
        for (const text of this.problems) this.#scene.emit({ type: 'notice', notice: { level: 'warn', text, next: ['openSettings'] } });
      }
      this.#key = await this.#scene.ports.secrets?.get(this.#keyName);
    } catch (error) {
      this.#scene.log.warn(`The settings could not be read again: ${messageOf(error)}`);
    }
  }
}
