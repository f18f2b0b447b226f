import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Offers } from '../../session/model.ts';
import type { Ports, Tool } from '../ports.ts';
import type { Accepts } from './content.ts';
import type { Dialect } from './dialect.ts';
import { type Quirks, quirksOf } from './quirks.ts';
import type { AuthMethod, InitializeAnswer } from './schema.ts';

/** What an agent said about itself at initialize. */
export interface Agent {
  /** The version of the protocol that was agreed on. */
  readonly dialect: Dialect;
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
    readonly processTools: boolean;
    readonly logout: boolean;
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
    // Not stable yet.
    plan: {},
    subagents: {},
    // Older than the standard, and what several agents look for.
    _meta: { terminal_output: true, ...(ports.runVisibly ? { 'terminal-auth': true } : {}) },
  };
}

/** The same for version 2, where files and terminals are the agent's own. */
export function clientCapabilities2(ports: Ports) {
  return {
    ...(ports.runVisibly ? { auth: { terminal: {} } } : {}),
    elicitation: { form: {}, ...(ports.openLink ? { url: {} } : {}) },
  };
}

export function agentOf(answer: InitializeAnswer, dialect: Dialect): Agent {
  const { agentInfo, agentCapabilities: caps } = answer;
  const session = caps?.sessionCapabilities;
  const prompt = caps?.promptCapabilities;
  return {
    dialect,
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
      processTools: Boolean(caps?.mcpCapabilities?.stdio ?? true),
      logout: Boolean(caps?.auth?.logout),
    },
    authMethods: answer.authMethods ?? [],
  };
}

/** What the user can do with this agent beyond talking to it. */
function offersOf({ accepts, can }: Agent, { tools, lent, keyed }: ReadyScene): Offers {
  return {
    ...(accepts.image ? { images: true } : {}),
    ...(can.list ? { history: true } : {}),
    ...(can.delete ? { forget: true } : {}),
    ...(can.fork ? { fork: true } : {}),
    ...(can.logout || keyed ? { signOut: true } : {}),
    tools: lent
      ? { accepted: tools.map((tool) => tool.name), rejected: [] }
      : { accepted: [], rejected: tools.map(({ name }) => ({ name, reason: t('The agent takes no tools from the editor.') })) },
  };
}

export interface ReadyScene {
  readonly tools: readonly Tool[];
  /** The tools were lent to it. */
  readonly lent: boolean;
  /** It runs with something the user entered. */
  readonly keyed: boolean;
}

/** The agent is there to be talked to. */
export function readyEvent(agent: Agent, scene: ReadyScene): SessionEvent {
  return {
    type: 'link.ready',
    agent: {
      protocol: 'acp',
      name: agent.title ?? agent.name ?? 'ACP',
      ...(agent.version === undefined ? {} : { version: agent.version }),
    },
    offers: offersOf(agent, scene),
  };
}
