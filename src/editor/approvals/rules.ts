import * as vscode from 'vscode';
import type { SessionHost } from '../../live/surface.ts';
import { workspacePathsAt } from '../../live/workspacePaths.ts';
import type { Approval, SessionId } from '../../session/model.ts';
import { type ApprovalRule, autoAnswer } from '../../session/policy.ts';
import { callsOf, titleOf } from '../../session/select.ts';
import { suggestedRules } from '../../session/suggestedRules.ts';
import type { Choice, QuickInputs } from '../quickInputs.ts';
import { approvalRules, readRules, setApprovalRules } from '../settings.ts';
import { plainLabel } from './rowText.ts';

type Scope = 'session' | 'workspace' | 'everywhere';
interface KnownRule {
  readonly rule: ApprovalRule;
  readonly scope: Scope;
  /** Whose rule it is, for scope `session`. */
  readonly sessionId?: SessionId;
}

/** Where the rules of this workspace are kept: in the editor's own storage, for a rule that comes with a repository would be nobody's decision. */
const WORKSPACE_KEY = 'approvals.rules';

/** The user's approval rules of every scope, as sessions read them. */
export class RuleStore {
  readonly #workspace: vscode.Memento;
  readonly #sessions = new Map<SessionId, readonly ApprovalRule[]>();

  constructor(workspace: vscode.Memento) {
    this.#workspace = workspace;
  }

  /** All rules that hold in a session; without one, those that hold in every session of this workspace. */
  of(sessionId?: SessionId): readonly ApprovalRule[] {
    return [...approvalRules(), ...this.#ofWorkspace(), ...this.#ofSession(sessionId)];
  }

  all(): readonly KnownRule[] {
    return [
      ...[...this.#sessions].flatMap(([sessionId, rules]) => rules.map((rule): KnownRule => ({ rule, scope: 'session', sessionId }))),
      ...this.#ofWorkspace().map((rule): KnownRule => ({ rule, scope: 'workspace' })),
      ...approvalRules().map((rule): KnownRule => ({ rule, scope: 'everywhere' })),
    ];
  }

  addForSession(sessionId: SessionId, rule: ApprovalRule): void {
    this.#sessions.set(sessionId, [...this.#ofSession(sessionId), rule]);
  }

  async add({ rule, scope, sessionId }: KnownRule): Promise<void> {
    if (scope === 'session' && sessionId !== undefined) this.addForSession(sessionId, rule);
    else if (scope === 'workspace') await this.#workspace.update(WORKSPACE_KEY, [...this.#ofWorkspace(), rule]);
    else await setApprovalRules([...approvalRules(), rule]);
  }

  async remove({ rule, scope, sessionId }: KnownRule): Promise<void> {
    const without = (rules: readonly ApprovalRule[]) => {
      const at = rules.findIndex((one) => JSON.stringify(one) === JSON.stringify(rule));
      return at < 0 ? rules : rules.toSpliced(at, 1);
    };
    if (scope === 'session' && sessionId !== undefined) this.#sessions.set(sessionId, without(this.#ofSession(sessionId)));
    else if (scope === 'workspace') await this.#workspace.update(WORKSPACE_KEY, without(this.#ofWorkspace()));
    else await setApprovalRules(without(approvalRules()));
  }

  #ofSession(sessionId: SessionId | undefined): readonly ApprovalRule[] {
    return sessionId === undefined ? [] : (this.#sessions.get(sessionId) ?? []);
  }

  #ofWorkspace(): readonly ApprovalRule[] {
    return readRules(this.#workspace.get(WORKSPACE_KEY));
  }
}

/** The rules as the user sees them: made from an approval, listed, tried and removed. */
export class Rules {
  readonly #store: RuleStore;
  readonly #desk: SessionHost;
  readonly #inputs: QuickInputs;

  constructor(store: RuleStore, desk: SessionHost, inputs: QuickInputs) {
    this.#store = store;
    this.#desk = desk;
    this.#inputs = inputs;
  }

  /** Asks what to allow and for how long. True when a rule was added. */
  async make(sessionId: SessionId, ask: Approval): Promise<boolean> {
    const cwd = this.#desk.get(sessionId)?.store.now.cwd ?? '';
    const suggested = suggestedRules(ask, cwd);
    const what = await this.#inputs.pick(
      suggested.map(({ rule, covers }): Choice<ApprovalRule> => ({ label: plainLabel(covers), description: ruleText(rule), value: rule })),
      { title: vscode.l10n.t('Always Allow: What?'), placeholder: vscode.l10n.t('The narrowest comes first') },
    );
    if (!what) return false;
    const scope = await this.#inputs.pick<Scope>(
      [
        { label: vscode.l10n.t('For this session'), value: 'session' },
        { label: vscode.l10n.t('In this workspace'), value: 'workspace' },
        { label: vscode.l10n.t('Everywhere'), description: vscode.l10n.t('in your user settings'), value: 'everywhere' },
      ],
      { title: vscode.l10n.t('Always Allow: Where?'), placeholder: ruleText(what) },
    );
    if (!scope) return false;
    await this.#store.add({ rule: what, scope, sessionId });
    return true;
  }

  /** Lists every rule; choosing one removes it after a question, and a command can be tried. */
  async manage(): Promise<void> {
    type Row = KnownRule | 'try' | 'settings' | 'agents';
    const known = this.#store.all();
    const chosen = await this.#inputs.pick<Row>(
      [
        { label: vscode.l10n.t('Try a command…'), description: vscode.l10n.t('see which rule would decide'), value: 'try' },
        ...known.map((one): Choice<Row> => ({ label: ruleText(one.rule), description: this.#scopeText(one), value: one })),
        ...this.#byAgents().map((label): Choice<Row> => ({ label, description: vscode.l10n.t('kept by the agent'), value: 'agents' })),
        { label: vscode.l10n.t('Open the settings'), description: 'parley.approvals.rules', value: 'settings' },
      ],
      { title: vscode.l10n.t('Approval Rules'), placeholder: vscode.l10n.t('Choose a rule to remove it') },
    );
    if (chosen === undefined) return;
    if (chosen === 'try') return this.#tryCommand();
    if (chosen === 'settings')
      return void (await vscode.commands.executeCommand('workbench.action.openSettings', 'parley.approvals.rules'));
    if (chosen === 'agents') {
      const text = vscode.l10n.t('The agent remembers this by itself, usually until its session ends. Parley cannot take it back.');
      return void vscode.window.showInformationMessage(text);
    }
    const remove = vscode.l10n.t('Remove');
    const question = vscode.l10n.t('Remove the rule “{0}”?', ruleText(chosen.rule));
    if ((await vscode.window.showWarningMessage(question, { modal: true }, remove)) === remove) await this.#store.remove(chosen);
    await this.manage();
  }

  async #tryCommand(): Promise<void> {
    const command = await this.#inputs.input({
      title: vscode.l10n.t('Which Rule Would Decide?'),
      prompt: vscode.l10n.t('A command as an agent would ask for it. Nothing is run.'),
    });
    if (command === undefined || command.trim() === '') return;
    void vscode.window.showInformationMessage(this.#verdict(command));
  }

  /** What the rules of the active session would do with a command, in a sentence. */
  #verdict(command: string): string {
    const session = this.#desk.active === undefined ? undefined : this.#desk.get(this.#desk.active)?.store.now;
    const cwd = session?.cwd ?? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
    const rules = this.#store.of(session?.id);
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
    const rejecting = decides('reject');
    if (rejecting) return vscode.l10n.t('Rejected without asking, by the rule “{0}”.', ruleText(rejecting));
    const allowing = decides('allow');
    if (allowing) return vscode.l10n.t('Allowed without asking, by the rule “{0}”.', ruleText(allowing));
    return vscode.l10n.t('No rule decides: you would be asked.');
  }

  /** What the user allowed an agent beyond one time, as far as the open sessions tell. */
  #byAgents(): readonly string[] {
    const told = this.#desk.all.flatMap((id) => {
      const session = this.#desk.get(id)?.store.now;
      return (session?.turns ?? [])
        .flatMap(callsOf)
        .flatMap(({ decision, title }) =>
          decision?.kind === 'approval' && decision.effect === 'allow_always'
            ? [`${session?.agent.name ?? ''}: ${plainLabel(decision.label ?? title)}`]
            : [],
        );
    });
    return [...new Set(told)].slice(0, 50);
  }

  #scopeText({ scope, sessionId }: KnownRule): string {
    if (scope === 'everywhere') return vscode.l10n.t('everywhere');
    if (scope === 'workspace') return vscode.l10n.t('in this workspace');
    const session = sessionId === undefined ? undefined : this.#desk.get(sessionId)?.store.now;
    return vscode.l10n.t('in the session “{0}”', session ? plainLabel(titleOf(session, 30)) : '');
  }
}

/** A rule as a sentence without its scope. */
function ruleText({ kind, pattern, decision }: ApprovalRule): string {
  const what = pattern === undefined ? vscode.l10n.t('every “{0}”', kind) : plainLabel(`${kind}: ${pattern}`);
  return decision === 'allow' ? vscode.l10n.t('Allow {0}', what) : vscode.l10n.t('Reject {0}', what);
}
