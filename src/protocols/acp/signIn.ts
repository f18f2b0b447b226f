import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Approval, Option } from '../../session/model.ts';
import type { Launch } from '../adapter.ts';
import type { Ports, VisibleProgram } from '../ports.ts';
import type { OpenAsks } from './asks.ts';
import { isWebAddress } from './forms.ts';
import { orAborted } from './line.ts';
import { type AuthMethod, type LoginCommand, loginCommand } from './schema.ts';

type ProcessLaunch = Extract<Launch, { kind: 'process' }>;

export interface SignInScene {
  readonly ports: Ports;
  readonly asks: OpenAsks;
  readonly launch: ProcessLaunch;
  readonly signal: AbortSignal;
  readonly emit: (event: SessionEvent) => void;
  /** The authenticate request of the connection that stands; the agent is told when the signal fires. */
  readonly authenticate: (methodId: string, signal: AbortSignal) => Promise<unknown>;
}

/** What came of it: go on with the same connection, start the agent again (with these variables), or nothing was done. */
export type SignedIn =
  | { readonly how: 'here' }
  | { readonly how: 'restart'; readonly env: Readonly<Record<string, string>> }
  | { readonly how: 'declined'; readonly why: string };

/** Lets the user choose one of the agent's ways to sign in, and goes it (acp.md §4). Rejects when the way fails. */
export async function signIn(methods: readonly AuthMethod[], scene: SignInScene): Promise<SignedIn> {
  const ways = methods.filter((method) => wayOf(method, scene.ports) !== undefined);
  if (ways.length === 0) {
    return { how: 'declined', why: t('The agent wants you to sign in. Set it up with its own program first, then start it again.') };
  }
  const method = await choose(ways, scene);
  if (!method) return { how: 'declined', why: t('The agent wants you to sign in, and no way was chosen.') };
  const way = wayOf(method, scene.ports);
  scene.emit({ type: 'link.opening', note: t('Signing in: {0}', method.name), ...(way === 'agent' ? { stops: true } : {}) });
  switch (way) {
    case 'terminal':
      return inTerminal(method, scene);
    case 'variables':
      return byVariables(method, scene);
    default:
      return byAgent(method, scene);
  }
}

/** The agent has it done, in a browser perhaps, which may take minutes; the user may stop waiting for it. */
async function byAgent({ id }: AuthMethod, { authenticate, signal }: SignInScene): Promise<SignedIn> {
  try {
    await orAborted(authenticate(id, signal), signal);
    return { how: 'here' };
  } catch (error) {
    if (!signal.aborted) throw error;
    return { how: 'declined', why: t('The sign-in was stopped.') };
  }
}

/** The variables a user entered for this agent before. */
export async function knownVariables(methods: readonly AuthMethod[], ports: Ports, launch: ProcessLaunch): Promise<Record<string, string>> {
  const known: Record<string, string> = {};
  for (const { name } of methods.flatMap((method) => method.vars ?? [])) {
    const value = await ports.secrets?.get(secretName(launch, name));
    if (value !== undefined) known[name] = value;
  }
  return known;
}

/** Nothing a user entered for this agent is kept any more. */
export async function forgetVariables(methods: readonly AuthMethod[], ports: Ports, launch: ProcessLaunch): Promise<void> {
  for (const { name } of methods.flatMap((method) => method.vars ?? [])) await ports.secrets?.set(secretName(launch, name), undefined);
}

type Way = 'agent' | 'terminal' | 'variables';

/** undefined: this window cannot go it. */
function wayOf(method: AuthMethod, ports: Ports): Way | undefined {
  if (loginOf(method) || method.type === 'terminal') return ports.runVisibly ? 'terminal' : undefined;
  if (method.type === 'env_var' || method.vars) return method.vars ? 'variables' : undefined;
  return method.type == null || method.type === 'agent' ? 'agent' : undefined;
}

function choose(methods: readonly AuthMethod[], scene: SignInScene): Promise<AuthMethod | undefined> {
  const options: Option[] = methods.map((method) => ({
    id: method.id,
    label: method.name,
    // Never chosen by a rule.
    effect: 'allow_always',
    ...(method.description ? { description: method.description } : {}),
  }));
  options.push({ id: '', label: t('Not now'), effect: 'reject_once' });
  const ask = (id: string): Approval => ({
    kind: 'approval',
    id,
    wordless: true,
    ours: true,
    title: t('Sign in'),
    detail: { type: 'text', text: t('The agent wants you to sign in. Choose how.') },
    options,
  });
  return scene.asks
    .ask<AuthMethod | undefined | null>(
      {
        ask,
        reply: (answer) => (answer.kind === 'option' ? (methods.find((method) => method.id === answer.optionId) ?? null) : undefined),
        cancelled: null,
      },
      scene.signal,
    )
    .then((method) => method ?? undefined);
}

function loginOf(method: AuthMethod): LoginCommand | undefined {
  const parsed = loginCommand.safeParse(method._meta?.['terminal-auth']);
  return parsed.success ? parsed.data : undefined;
}

/** The agent's own login: the command it names, or the configured one with the method's arguments behind it. Afterwards it starts anew. */
async function inTerminal(method: AuthMethod, scene: SignInScene): Promise<SignedIn> {
  const { launch, ports } = scene;
  const login = loginOf(method);
  const program: VisibleProgram = {
    title: login?.label || method.name,
    command: login?.command ?? launch.command,
    args: login ? (login.args ?? []) : [...launch.args, ...(method.args ?? [])],
    env: { ...defined(launch.env), ...(login ? login.env : method.env) },
    cwd: launch.cwd,
  };
  const exit = await ports.runVisibly?.(program);
  if (exit?.code !== 0) return { how: 'declined', why: t('The login "{0}" did not end well.', program.title) };
  return { how: 'restart', env: {} };
}

async function byVariables(method: AuthMethod, scene: SignInScene): Promise<SignedIn> {
  const vars = method.vars ?? [];
  const values = await scene.asks.ask<Readonly<Record<string, string>> | null>(
    {
      ask: (id) => ({
        kind: 'question',
        id,
        ours: true,
        title: method.name,
        fields: vars.map((one, at) => ({
          id: one.name,
          label: one.label || one.name,
          free: true,
          ...bodyOf(one, at === 0 ? method : undefined),
          kind: one.secret === false ? 'text' : 'secret',
          ...(one.optional ? {} : { required: true as const }),
        })),
      }),
      reply: (answer) => {
        if (answer.kind !== 'fields') return null;
        const given = vars.flatMap(({ name }) => {
          const value = answer.values[name]?.[0]?.trim();
          return value ? [[name, value] as const] : [];
        });
        const missing = vars.some((one) => !one.optional && !given.some(([name]) => name === one.name));
        return missing ? undefined : Object.fromEntries(given);
      },
      cancelled: null,
    },
    scene.signal,
  );
  if (!values) return { how: 'declined', why: t('The agent wants you to sign in, and nothing was entered.') };
  for (const [name, value] of Object.entries(values)) await scene.ports.secrets?.set(secretName(scene.launch, name), value);
  return { how: 'restart', env: values };
}

/** What the variable is called, and by the first one where to get what is asked for. */
function bodyOf({ name, label }: NonNullable<AuthMethod['vars']>[number], method: AuthMethod | undefined): { readonly body?: string } {
  const link = method?.link && isWebAddress(method.link) ? t('Get it here: {0}', method.link.slice(0, 1000)) : '';
  const body = [label ? name : '', link].filter(Boolean).join('\n\n');
  return body === '' ? {} : { body };
}

function secretName(launch: ProcessLaunch, variable: string): string {
  return `acp ${[launch.command, ...launch.args].join(' ')} ${variable}`;
}

function defined(env: ProcessLaunch['env']): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
