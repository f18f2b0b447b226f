import { t } from '../../base/l10n.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, Option, Question } from '../../session/model.ts';
import type { ClientAbilities } from './codec.ts';
import { type AuthMethod, type LoginCommand, loginCommand } from './schema.ts';

/* The agent's ways to sign in, and what the user is asked for them (docs/protocols/acp.md, "Signing in"). */

/** How far a sign-in has come. Values that are entered are never part of it. */
export type SignIn =
  | { readonly step: 'choosing' }
  /** The agent has it done, in a browser perhaps. */
  | { readonly step: 'agent' }
  | { readonly step: 'terminal'; readonly title: string }
  | { readonly step: 'variables'; readonly methodId: string }
  | { readonly step: 'keeping' };

/** undefined: this window cannot go that way. */
export function wayOf(method: AuthMethod, can: ClientAbilities): 'agent' | 'terminal' | 'variables' | undefined {
  if (loginOf(method) || method.type === 'terminal') return can.logins ? 'terminal' : undefined;
  if (method.type === 'env_var' || method.vars) return method.vars ? 'variables' : undefined;
  return method.type == null || method.type === 'agent' ? 'agent' : undefined;
}
/** The login command that the agent names itself. */
function loginOf(method: AuthMethod): LoginCommand | undefined {
  const parsed = loginCommand.safeParse(method._meta?.['terminal-auth']);
  return parsed.success ? parsed.data : undefined;
}
/** What the login runs in a terminal. */
export function loginIn(method: AuthMethod): {
  readonly title: string;
  readonly login: LoginCommand | null;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
} {
  const login = loginOf(method) ?? null;
  return { title: login?.label || method.name, login, args: method.args ?? [], env: method.env ?? {} };
}
/** The names of all variables that a user may enter for this agent. */
export function variablesIn(methods: readonly AuthMethod[]): readonly string[] {
  return methods.flatMap((method) => (method.vars ?? []).map((one) => one.name));
}

/** The values that were entered for its variables; undefined when there are none, or a required one is missing. */
export function variablesOf(method: AuthMethod | undefined, answer: Answer): Readonly<Record<string, string>> | undefined {
  if (!method || answer.kind !== 'fields') return undefined;
  const vars = method.vars ?? [];
  const given = Object.fromEntries(
    vars.flatMap(({ name }) => {
      const value = answer.values[name]?.[0]?.trim();
      return value ? [[name, value] as const] : [];
    }),
  );
  return vars.every(({ name, optional }) => optional || Object.hasOwn(given, name)) ? given : undefined;
}

export function signInAsk(id: string, methods: readonly AuthMethod[], reason: string | null): Approval {
  const options: Option[] = methods.map((method) => ({
    id: method.id,
    label: method.name,
    // Never chosen by a rule.
    effect: 'allow_always',
    ...(method.description ? { description: method.description } : {}),
  }));
  options.push({ id: '', label: t('Cancel'), effect: 'reject_once' });
  return {
    kind: 'approval',
    id,
    wordless: true,
    ours: true,
    title: t('Sign in'),
    detail: { type: 'text', text: reason ?? '' },
    options,
  };
}

export function variablesAsk(id: string, method: AuthMethod): Question {
  return {
    kind: 'question',
    id,
    ours: true,
    title: method.name,
    fields: (method.vars ?? []).map((one, at) => ({
      id: one.name,
      label: one.label || one.name,
      free: true,
      ...bodyOf(one, at === 0 ? method : undefined),
      kind: one.secret === false ? 'text' : 'secret',
      ...(one.optional ? {} : { required: true as const }),
    })),
  };
}
/** The name of the variable, and by the first one where to get what is asked for. */
function bodyOf({ name, label }: NonNullable<AuthMethod['vars']>[number], method: AuthMethod | undefined): { readonly body?: string } {
  const { link } = method ?? {};
  const source = link && /^https?:\/\/\S+$/i.test(link) ? link.slice(0, 1000) : '';
  const body = [label ? name : '', source].filter(Boolean).join('\n\n');
  return body === '' ? {} : { body };
}
