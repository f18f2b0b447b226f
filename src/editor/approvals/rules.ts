import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import { workspacePathsAt } from '../../live/diskFiles.ts';
import type { HostedSession, SessionHost } from '../../live/surface.ts';
import { coveredBy } from '../../session/callWords.ts';
import { commandAllowedEarlier } from '../../session/earlierAnswers.ts';
import type { Approval, Decision, Session, SessionId, ToolCall, TurnId } from '../../session/model.ts';
import { type ApprovalRule, autoAnswer } from '../../session/policy.ts';
import { callsOf, callTitle, forSession, titleOf } from '../../session/select.ts';
import { approvalHeading } from '../../session/shownApproval.ts';
import { suggestedRules } from '../../session/suggestedRules.ts';
import { commandTitle } from '../commandTitle.ts';
import type { InputsShown, PickChoice, QuickInputs } from '../quickInputs.ts';
import { approvalRules, readRules, type StoredRule, setApprovalRules } from '../settings.ts';
import { plainLabel, shortLabel, wrapping } from './rowText.ts';

/** Recent approvals kept for the preview of a rule. */
const RECENT = 50;
/** UTF-16 units of the request in a title, which wraps. */
const LONGEST_SUBJECT = 160;

/** UTF-16 units of the call that a permission of an agent was given for. */
const LONGEST_KEPT = 60;
/** UTF-16 units of a pasted text that are read. */
const LONGEST_PASTED = 100_000;

const MOST_BY_AGENTS = 50;

interface KeptByAgent {
  readonly label: string;
  /** Where it holds, as far as the agent reports that. */
  readonly description: string;
}
type Scope = 'session' | 'workspace' | 'everywhere';
interface KnownRule {
  readonly rule: StoredRule;
  readonly scope: Scope;
  /** The session of a rule with scope `session`. */
  readonly sessionId?: SessionId;
}

/** Storage key for the rules of this workspace: in the editor's own storage, because the user has not decided on a rule that comes with a repository. */
const WORKSPACE_KEY = 'approvals.rules';
/** The same for the rules of sessions, which stay open over a reload of the window. */
const SESSIONS_KEY = 'approvals.sessionRules';
/** Sessions whose rules are kept: those of a window that never came back would stay for ever. */
const MOST_SESSIONS = 100;

/** The user's approval rules of every scope, as sessions read them. */
export class RuleStore {
  readonly #workspace: vscode.Memento;

  constructor(workspace: vscode.Memento) {
    this.#workspace = workspace;
  }

  /** All rules that apply to an agent in a session; without a session, those for every session of this workspace. */
  of(profile: string | undefined, sessionId?: SessionId): readonly ApprovalRule[] {
    const all = [...approvalRules(), ...this.#ofWorkspace(), ...this.#ofSession(sessionId)];
    return all.filter(({ agent }) => agent === undefined || agent === profile);
  }

  all(): readonly KnownRule[] {
    return [
      ...this.#bySession().flatMap(([sessionId, rules]) => rules.map((rule): KnownRule => ({ rule, scope: 'session', sessionId }))),
      ...this.#ofWorkspace().map((rule): KnownRule => ({ rule, scope: 'workspace' })),
      ...approvalRules().map((rule): KnownRule => ({ rule, scope: 'everywhere' })),
    ];
  }

  async addForSession(sessionId: SessionId, rule: StoredRule): Promise<void> {
    await this.#setForSession(sessionId, [...this.#ofSession(sessionId), rule]);
  }

  /** Forgets the rules of a session that was closed: opened again later, it asks. */
  async sessionClosed(sessionId: SessionId): Promise<void> {
    if (this.#ofSession(sessionId).length > 0) await this.#setForSession(sessionId, []);
  }

  async add({ rule, scope, sessionId }: KnownRule): Promise<void> {
    if (scope === 'session' && sessionId !== undefined) await this.addForSession(sessionId, rule);
    else if (scope === 'workspace') await this.#workspace.update(WORKSPACE_KEY, [...this.#ofWorkspace(), rule]);
    else await setApprovalRules([...approvalRules(), rule]);
  }

  async remove({ rule, scope, sessionId }: KnownRule): Promise<void> {
    const without = (rules: readonly StoredRule[]) => {
      const at = rules.findIndex((one) => JSON.stringify(one) === JSON.stringify(rule));
      return at < 0 ? rules : rules.toSpliced(at, 1);
    };
    if (scope === 'session' && sessionId !== undefined) await this.#setForSession(sessionId, without(this.#ofSession(sessionId)));
    else if (scope === 'workspace') await this.#workspace.update(WORKSPACE_KEY, without(this.#ofWorkspace()));
    else await setApprovalRules(without(approvalRules()));
  }

  #ofSession(sessionId: SessionId | undefined): readonly StoredRule[] {
    return this.#bySession().find(([id]) => id === sessionId)?.[1] ?? [];
  }

  #bySession(): readonly (readonly [SessionId, readonly StoredRule[]])[] {
    return Object.entries(this.#workspace.get<object>(SESSIONS_KEY) ?? {}).map(([id, rules]) => [id, readRules(rules)] as const);
  }

  async #setForSession(sessionId: SessionId, rules: readonly StoredRule[]): Promise<void> {
    const others = this.#bySession().filter(([id]) => id !== sessionId);
    const all = rules.length === 0 ? others : [...others, [sessionId, rules] as const];
    await this.#workspace.update(SESSIONS_KEY, Object.fromEntries(all.slice(-MOST_SESSIONS)));
  }

  #ofWorkspace(): readonly StoredRule[] {
    return readRules(this.#workspace.get(WORKSPACE_KEY));
  }
}

/** The rules in the user interface: made from an approval, listed, tried and removed. */
export class ApprovalRules implements Disposable {
  readonly #store: RuleStore;
  readonly #host: SessionHost;
  readonly #inputs: QuickInputs;
  readonly #life = new Lifetime();
  /** Latest approvals of each session's agents, to preview what a rule would have covered. */
  #recent: readonly { readonly sessionId: SessionId; readonly ask: Approval }[] = [];
  /** The last turn before the agent of a session was started again. */
  readonly #lastBefore = new Map<SessionId, TurnId | undefined>();
  #open: readonly SessionId[];

  constructor(store: RuleStore, host: SessionHost, inputs: QuickInputs) {
    this.#store = store;
    this.#host = host;
    this.#inputs = inputs;
    this.#open = host.all;
    this.#life.own(
      host.onChange((sessionId, { event, before }) => {
        if (event.type === 'ask.opened' && event.ask.kind === 'approval')
          this.#recent = [{ sessionId, ask: event.ask }, ...this.#recent].slice(0, RECENT);
        if (before.link.state === 'closed') this.#lastBefore.set(sessionId, before.turns.at(-1)?.id);
      }),
    );
    this.#life.own(host.onSessions(() => this.#forgetClosed()));
  }

  dispose(): void {
    this.#life.dispose();
  }

  /** Asks what to allow, for how long and with which agent. Returns the rule that was added. */
  async make(sessionId: SessionId, ask: Approval, { signal, until }: InputsShown): Promise<KnownRule | undefined> {
    const session = this.#host.get(sessionId);
    if (!session) return undefined;
    const { action, amount, subject = amount === undefined ? action : `${action} (${amount})` } = approvalHeading(ask, session.store.now);
    const title = wrapping(`${vscode.l10n.t('Always allow…')} — ${shortLabel(subject, LONGEST_SUBJECT)}`);
    const what = await this.#inputs.pick(
      suggestedRules(ask, session.store.now.cwd).map(({ rule, covers }): PickChoice<ApprovalRule> => {
        const choice = { label: plainLabel(covers), value: rule };
        const others = this.#coveredBy(rule, ask);
        return others === '' ? choice : { ...choice, detail: vscode.l10n.t('Would also have allowed: {0}', others) };
      }),
      { title, signal },
    );
    if (!what) return undefined;
    const { profile } = session;
    const { name } = session.store.now.agent;
    const [withThis, withAll] = [vscode.l10n.t('with {0}', plainLabel(name)), vscode.l10n.t('with every agent')];
    const where = await this.#inputs.pick<KnownRule>(
      [
        { label: scopeText('session'), value: { rule: what, scope: 'session', sessionId } },
        { label: scopeText('workspace'), description: withThis, value: { rule: { ...what, agent: profile }, scope: 'workspace' } },
        { label: scopeText('workspace'), description: withAll, value: { rule: what, scope: 'workspace' } },
        { label: scopeText('everywhere'), description: withThis, value: { rule: { ...what, agent: profile }, scope: 'everywhere' } },
        { label: scopeText('everywhere'), description: withAll, value: { rule: what, scope: 'everywhere' } },
      ],
      { title, placeholder: ruleText(what), signal, until },
    );
    // It may have been withdrawn between the key and its answer.
    if (!where || signal.aborted) return undefined;
    await this.#store.add(where);
    return where;
  }

  /** Lists every rule; choosing one removes it after a confirmation. Commands can be tried here too. */
  async manage(): Promise<void> {
    type Row = KnownRule | 'try' | 'settings' | 'agents';
    // Those of a session that has not come back decide nothing.
    const known = this.#store.all().filter(({ sessionId }) => sessionId === undefined || this.#host.get(sessionId) !== undefined);
    const chosen = await this.#inputs.pick<Row>(
      [
        { label: vscode.l10n.t('Try a command…'), value: 'try' },
        ...known.map((one): PickChoice<Row> => ({ label: ruleText(one.rule), description: this.#reachText(one), value: one })),
        ...this.#byAgents().map((one): PickChoice<Row> => ({ ...one, value: 'agents' })),
        { label: commandTitle('openSettings'), description: 'parley.approvals.rules', value: 'settings' },
      ],
      { title: commandTitle('manageRules'), placeholder: vscode.l10n.t('Choose a rule to remove it') },
    );
    if (chosen === undefined) return;
    if (chosen === 'try') return this.#tryCommand();
    if (chosen === 'settings')
      return void (await vscode.commands.executeCommand('workbench.action.openSettings', 'parley.approvals.rules'));
    if (chosen === 'agents') {
      return void vscode.window.showInformationMessage(keptByAgentText());
    }
    const remove = vscode.l10n.t('Remove');
    const question = vscode.l10n.t('Remove the rule “{0}”?', ruleText(chosen.rule));
    if ((await vscode.window.showWarningMessage(question, { modal: true }, remove)) === remove) await this.#store.remove(chosen);
    await this.manage();
  }

  /** Shows below the command which rule would decide; Enter goes back to the list. */
  async #tryCommand(): Promise<void> {
    const session = this.#activeSession();
    const agent = session ? vscode.l10n.t('with {0}', plainLabel(session.store.now.agent.name)) : '';
    const title = [vscode.l10n.t('Try a command…'), agent].filter(Boolean).join(' · ');
    let [length, copied] = [0, ''];
    const hint = (text: string, show: (hint: string | undefined) => void) => {
      const isPasted = text.length > length + 1;
      length = text.length;
      const showVerdict = () => show(text.trim() === '' ? undefined : this.#verdict(withLines(text, copied)));
      showVerdict();
      const late = isPasted ? vscode.env.clipboard.readText() : undefined;
      late?.then(
        (found) => {
          copied = found;
          showVerdict();
        },
        () => {},
      );
    };
    if ((await this.#inputs.input({ title, placeholder: 'npm run lint -- --fix', hint })) !== undefined) await this.manage();
  }

  /** A sentence about how the rules of the active session would decide a command. */
  #verdict(command: string): string {
    const active = this.#activeSession();
    const cwd = active?.store.now.cwd ?? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
    const rules = this.#store.of(active?.profile, active?.id);
    const ask: Approval = {
      kind: 'approval',
      id: 'try',
      title: command,
      toolKind: 'execute',
      detail: { type: 'command', command },
      options: [
        { id: 'allow', label: 'Allow', effect: 'allow_once' },
        { id: 'reject', label: 'Reject', effect: 'reject_once' },
      ],
    };
    const decides = (decision: ApprovalRule['decision']) =>
      rules.find((one) => one.decision === decision && autoAnswer(ask, [one], cwd, workspacePathsAt(cwd)) !== undefined);
    const deciding = decides('reject') ?? decides('allow');
    const byAgent = active && !deciding ? commandAllowedEarlier(this.#callsKept(active.store.now), cwd, command) : undefined;
    if (active && byAgent !== undefined) return `${plainLabel(`${active.store.now.agent.name}: “${byAgent}”`)} · ${keptByAgentText()}`;
    if (!deciding) return vscode.l10n.t('No rule decides: you would be asked.');
    return vscode.l10n.t('Decided without asking, by the rule “{0}”.', ruleText(deciding));
  }

  #activeSession(): HostedSession | undefined {
    return this.#host.active === undefined ? undefined : this.#host.get(this.#host.active);
  }

  /** Short list of other recent approvals that the rule would have answered. */
  #coveredBy(rule: ApprovalRule, but: Approval): string {
    const covered = this.#recent.flatMap(({ sessionId, ask }) => {
      const session = this.#host.get(sessionId)?.store.now;
      if (!session || ask.id === but.id || !autoAnswer(ask, [rule], session.cwd, workspacePathsAt(session.cwd))) return [];
      const { action, subject } = approvalHeading(ask, session);
      return [shortLabel(subject ?? action, 60)];
    });
    return [...new Set(covered)].slice(0, 4).join(' · ');
  }

  /** Permissions beyond one time that the user gave an agent, as far as the open sessions report them. */
  #byAgents(): readonly KeptByAgent[] {
    const told = this.#host.all.flatMap((id) => {
      const session = this.#host.get(id)?.store.now;
      return session ? this.#callsKept(session).flatMap((call) => keptText(call, session)) : [];
    });
    return [...new Map(told.map((one) => [`${one.label} ${one.description}`, one])).values()].slice(0, MOST_BY_AGENTS);
  }

  /** The calls of a session without those that were allowed for the session of an agent that has ended since: it has forgotten them. */
  #callsKept({ id, link, turns }: Session): readonly ToolCall[] {
    const last = this.#lastBefore.get(id);
    const from = link.state === 'closed' ? turns.length : turns.findIndex((turn) => turn.id === last) + 1;
    return turns.flatMap((turn, at) => callsOf(turn).filter(({ decision }) => at >= from || !isForSession(decision)));
  }

  /** A session that is closed takes its rules along; one that the window has not restored yet keeps them. */
  #forgetClosed(): void {
    const closed = this.#open.filter((id) => this.#host.get(id) === undefined);
    this.#open = this.#host.all;
    for (const id of closed) {
      this.#lastBefore.delete(id);
      void this.#store.sessionClosed(id);
    }
  }

  /** The name of a profile's agent, if a session has it. */
  #nameOf(profile: string): string {
    const known = this.#host.all.map((id) => this.#host.get(id)).find((session) => session?.profile === profile);
    return known?.store.now.agent.name ?? profile;
  }

  #reachText({ rule, scope, sessionId }: KnownRule): string {
    const session = sessionId === undefined ? undefined : this.#host.get(sessionId)?.store.now;
    const agent = rule.agent === undefined ? '' : vscode.l10n.t('with {0}', plainLabel(this.#nameOf(rule.agent)));
    return [scopeText(scope), session ? plainLabel(titleOf(session, 30)) : '', agent].filter(Boolean).join(' · ');
  }
}

function keptByAgentText(): string {
  return vscode.l10n.t('The agent remembers this by itself, usually until its session ends. Parley cannot take it back.');
}

function isForSession(decision: Decision | undefined): boolean {
  return decision?.kind === 'approval' && forSession(`${decision.label ?? ''} ${decision.reach ?? ''}`);
}

/** The permission that a call's answer gave its agent, in the agent's words, with what it was given for where they do not say it. */
function keptText(call: ToolCall, { agent, cwd }: Session): readonly KeptByAgent[] {
  const { decision } = call;
  if (decision?.kind !== 'approval' || decision.effect !== 'allow_always') return [];
  const what = shortLabel(callTitle(call, cwd), LONGEST_KEPT);
  const { reach } = decision;
  const label = plainLabel(decision.label ?? '');
  const words = label === '' || label.includes(what) ? [label || what] : [label, what];
  const description = reach === undefined ? vscode.l10n.t('the agent decides how far') : shortLabel(reach, LONGEST_KEPT);
  return [{ label: `${plainLabel(agent.name)}: ${words.join(' — ')}`, description }];
}

/** The text of a box of one line with the lines that were pasted into it: each is a command, and no pattern allows several. */
function withLines(text: string, copied: string): string {
  const lines = copied.slice(0, LONGEST_PASTED).trim();
  const shown = lines.replace(/\r\n|[\r\n]/g, ' ');
  return shown === lines ? text : text.replace(shown, () => lines);
}

function scopeText(scope: Scope): string {
  if (scope === 'session') return vscode.l10n.t('For this session');
  return scope === 'workspace' ? vscode.l10n.t('In this workspace') : vscode.l10n.t('Everywhere');
}

/** A rule as a sentence without its scope. */
function ruleText(rule: ApprovalRule): string {
  const what = plainLabel(coveredBy(rule));
  return `${rule.decision === 'allow' ? vscode.l10n.t('Allow') : vscode.l10n.t('Reject')}: ${what}`;
}
