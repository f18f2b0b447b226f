import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type AsideAnswer, type AsideDeps, askAside, converseAside, noPorts } from '../live/asideRequest.ts';
import { type AgentCheck, checkAgent } from '../live/checkAgent.ts';
import type { Profile } from '../live/profiles.ts';
import type { Content } from '../session/model.ts';
import type { AgentHostDeps } from './agentHost.ts';
import type { Agents } from './agents.ts';

/** Milliseconds without output after which a check treats a model as not answering. */
const PATIENCE = 60_000;

/** Starts agents apart from all sessions, each in an empty folder that is deleted with it. */
export class AsideAgents {
  readonly #agents: Pick<Agents, 'launchAside'>;
  readonly #deps: Pick<AgentHostDeps, 'protocols' | 'client' | 'log'>;

  constructor(agents: Pick<Agents, 'launchAside'>, deps: Pick<AgentHostDeps, 'protocols' | 'client' | 'log'>) {
    this.#agents = agents;
    this.#deps = deps;
  }

  check(profile: Profile): AgentCheck {
    const { cwd, deps, remove } = this.#place(profile);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const patience = () =>
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, PATIENCE);
      });
    const check = checkAgent(profile, cwd, { ...deps, patience });
    const end = (): void => {
      clearTimeout(timer);
      check.end();
      remove();
    };
    return { ...check, end };
  }

  /** One text of an agent, in no conversation of the user; undefined once it is stopped. */
  async ask(profile: Profile, content: readonly Content[], stop: AbortSignal): Promise<AsideAnswer | undefined> {
    const { cwd, deps, remove } = this.#place(profile);
    const session = converseAside(profile, cwd, deps);
    try {
      return await askAside(session, content, randomUUID(), stop);
    } finally {
      const { link } = session.store.now;
      if (link.state === 'closed' && link.detail !== undefined) deps.log.warn(`${profile.name}: ${link.reason}\n${link.detail}`);
      session.dispose();
      void session.ended.then(remove);
    }
  }

  #place(profile: Profile): { readonly cwd: string; readonly deps: AsideDeps; remove(): void } {
    const { protocols, client, log } = this.#deps;
    const protocol = protocols()[profile.protocol];
    if (!protocol) throw new Error(`unknown protocol ${profile.protocol}`);
    const cwd = mkdtempSync(path.join(tmpdir(), 'parley-aside-'));
    const launch = () => this.#agents.launchAside(profile, cwd);
    return {
      cwd,
      deps: { protocol, launch, ports: noPorts, client, log, now: Date.now, newId: randomUUID },
      // The folder may still be the working directory of a program that is ending.
      remove: () => void rm(cwd, { recursive: true, force: true, maxRetries: 3 }).catch(() => {}),
    };
  }
}
