import type { Ports } from '../ports.ts';
import type { Accepts } from './content.ts';
import { type Quirks, quirksOf } from './quirks.ts';
import type { AuthMethod, InitializeAnswer } from './schema.ts';

/** The version of the protocol that is meant, unless a profile offers the draft (acp.md §3). */
export const VERSION = 1;

/** What an agent said about itself at initialize. */
export interface Agent {
  readonly name: string | undefined;
  /** What to call it before people. */
  readonly title: string | undefined;
  readonly version: string | undefined;
  readonly quirks: Quirks;
  readonly accepts: Accepts;
  readonly can: {
    readonly load: boolean;
    readonly resume: boolean;
    readonly list: boolean;
    readonly close: boolean;
    readonly delete: boolean;
    readonly fork: boolean;
    readonly moreFolders: boolean;
    readonly httpTools: boolean;
  };
  readonly authMethods: readonly AuthMethod[];
}

/** Only what works is offered: what a port is missing for stays away. */
export function clientCapabilities(ports: Ports) {
  return {
    fs: { readTextFile: true, writeTextFile: true },
    terminal: true,
    ...(ports.runVisibly ? { auth: { terminal: true } } : {}),
    session: { configOptions: { boolean: {} }, notices: {}, compaction: {} },
    elicitation: { form: {}, ...(ports.openLink ? { url: {} } : {}) },
    // Older than the standard, and what several agents look for.
    _meta: { terminal_output: true, ...(ports.runVisibly ? { 'terminal-auth': true } : {}) },
  };
}

export function agentOf(answer: InitializeAnswer): Agent {
  const { agentInfo, agentCapabilities: caps } = answer;
  const session = caps?.sessionCapabilities;
  const prompt = caps?.promptCapabilities;
  return {
    name: agentInfo?.name,
    title: agentInfo?.title || undefined,
    version: agentInfo?.version ?? undefined,
    quirks: quirksOf(agentInfo?.name, agentInfo?.version ?? undefined),
    accepts: { image: Boolean(prompt?.image), audio: Boolean(prompt?.audio), embedded: Boolean(prompt?.embeddedContext) },
    can: {
      load: Boolean(caps?.loadSession),
      resume: Boolean(session?.resume),
      list: Boolean(session?.list),
      close: Boolean(session?.close),
      delete: Boolean(session?.delete),
      fork: Boolean(session?.fork),
      moreFolders: Boolean(session?.additionalDirectories),
      httpTools: Boolean(caps?.mcpCapabilities?.http),
    },
    authMethods: answer.authMethods ?? [],
  };
}
