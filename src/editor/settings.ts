import * as vscode from 'vscode';
import * as z from 'zod/mini';
import type { ApprovalRule } from '../session/policy.ts';
import { commandTitle } from './commandTitle.ts';
import type { QuickInputs } from './quickInputs.ts';

/** Typed access to the configuration; nothing else calls getConfiguration. A value of the wrong type counts as not set. */

export interface ModelSettings {
  readonly baseUrl: string;
  readonly name: string;
  /** Tokens. */
  readonly contextSize?: number;
}

const rule = z.object({
  kind: z.enum(['command', 'edit', 'mcp', 'read', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'other']),
  pattern: z.optional(z.string().check(z.minLength(1))),
  decision: z.enum(['allow', 'reject']),
  agent: z.optional(z.string().check(z.minLength(1))),
});

/** A stored rule: `agent` is the id of the only profile it applies to. */
export interface StoredRule extends ApprovalRule {
  readonly agent?: string;
}

/** The raw list of the user settings; `readProfiles` checks it. */
export function agentsSetting(): unknown {
  return personal('agents');
}

/** Adds an entry to the agents of the user settings. */
export async function addAgent(entry: object): Promise<void> {
  const known = agentsSetting();
  const list: readonly unknown[] = Array.isArray(known) ? known : [];
  await vscode.workspace.getConfiguration('parley').update('agents', [...list, entry], vscode.ConfigurationTarget.Global);
}

/** Whether a menu or lightbulb of the editor offers this action. Earlier versions had one boolean for all. */
export function editorActionOn(action: 'fix' | 'explain' | 'addTest' | 'addProblem'): boolean {
  const value: unknown = vscode.workspace.getConfiguration('parley').get('editorActions');
  if (typeof value !== 'object' || value === null) return value !== false;
  return !(action in value) || (value as Readonly<Record<string, unknown>>)[action] !== false;
}

/** Replaces the boolean of earlier versions, which menus cannot read, by its equivalent. */
export async function migrateEditorActions(): Promise<void> {
  const configuration = vscode.workspace.getConfiguration('parley');
  const { globalValue, defaultValue } = configuration.inspect('editorActions') ?? {};
  if (typeof globalValue !== 'boolean') return;
  const off = Object.fromEntries(Object.keys(defaultValue ?? {}).map((action) => [action, false]));
  await configuration.update('editorActions', globalValue ? undefined : off, vscode.ConfigurationTarget.Global);
}

/** Pixels of a line in text editors, computed from the settings as the editor does; rather too few. */
export function editorLineHeight(): number {
  const editor = vscode.workspace.getConfiguration('editor');
  const [size, height]: readonly unknown[] = [editor.get('fontSize'), editor.get('lineHeight')];
  const font = typeof size === 'number' ? Math.max(6, size) : 12;
  if (typeof height !== 'number' || height <= 0) return Math.floor(font * 1.35);
  return Math.max(8, Math.floor(height < 8 ? font * height : height));
}

/** How much larger than usual windows are drawn. */
export function windowZoom(): number {
  const level: unknown = vscode.workspace.getConfiguration('window').get('zoomLevel');
  return typeof level === 'number' ? 1.2 ** level : 1;
}

export function defaultAgent(): string {
  const value: unknown = vscode.workspace.getConfiguration('parley').get('defaultAgent');
  return typeof value === 'string' ? value.trim() : '';
}

export function modelSettings(): ModelSettings {
  const contextSize = personal('model.contextSize');
  return {
    baseUrl: textOf(personal('model.baseUrl')),
    name: textOf(personal('model.name')),
    ...(typeof contextSize === 'number' && contextSize > 0 ? { contextSize } : {}),
  };
}

export async function setModel(model: ModelSettings): Promise<void> {
  const configuration = vscode.workspace.getConfiguration('parley');
  await configuration.update('model.baseUrl', model.baseUrl || undefined, vscode.ConfigurationTarget.Global);
  await configuration.update('model.name', model.name || undefined, vscode.ConfigurationTarget.Global);
  await configuration.update('model.contextSize', model.contextSize, vscode.ConfigurationTarget.Global);
}

/** Rules from the user settings. Never from a workspace. */
export function approvalRules(): readonly StoredRule[] {
  return readRules(personal('approvals.rules'));
}

export async function setApprovalRules(rules: readonly StoredRule[]): Promise<void> {
  await vscode.workspace.getConfiguration('parley').update('approvals.rules', rules, vscode.ConfigurationTarget.Global);
}

/** The rules in an external value; leaves out invalid entries. */
export function readRules(value: unknown): readonly StoredRule[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((one: unknown) => {
    const parsed = rule.safeParse(one);
    if (!parsed.success) return [];
    const { kind, decision, pattern, agent } = parsed.data;
    return [{ kind, decision, ...(pattern === undefined ? {} : { pattern }), ...(agent === undefined ? {} : { agent }) }];
  });
}

/** Globs of files whose changes always need the user's approval. Never from a workspace. */
export function guardedFiles(): readonly string[] {
  const value = personal('approvals.guardedFiles');
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string' && one !== '') : [];
}

/** The asks that open by themselves. Earlier versions used a boolean; true and false are still accepted. */
export function approvalsPopUp(): 'always' | 'whenNoDiff' | 'never' {
  const value: unknown = vscode.workspace.getConfiguration('parley').get('approvals.popUp');
  if (value === 'whenNoDiff') return value;
  return value === 'never' || value === false ? 'never' : 'always';
}

/** True when this kind of event notifies the user while the window is in the background. */
export function notifies(of: 'approvals' | 'questions' | 'finishedTurns'): boolean {
  return vscode.workspace.getConfiguration('parley').get(`notifications.${of}`) !== false;
}

export function approvalsOpenDiff(): boolean {
  return vscode.workspace.getConfiguration('parley').get('approvals.openDiff') !== false;
}

/** Whether new sessions run in the agent host, so that they survive closing the window. */
export function sessionsInHost(): boolean {
  return personal('agentHost.newSessions') === true;
}

export function followOn(): boolean {
  return vscode.workspace.getConfiguration('parley').get('follow') === true;
}

export async function setFollow(on: boolean): Promise<void> {
  await vscode.workspace.getConfiguration('parley').update('follow', on || undefined, vscode.ConfigurationTarget.Global);
}

/** Whether the editor's own quick diff shows changes under review: it takes an entry among the repositories of Source Control. */
export function quickDiffOn(): boolean {
  return vscode.workspace.getConfiguration('parley').get('review.quickDiff') === true;
}

export function traceOn(): boolean {
  return personal('trace') === 'messages';
}

export async function setTrace(on: boolean): Promise<void> {
  await vscode.workspace.getConfiguration('parley').update('trace', on ? 'messages' : undefined, vscode.ConfigurationTarget.Global);
}

/** Globs that the user keeps out of searches. */
export function searchExcludes(): readonly string[] {
  const named = (section: string): Record<string, unknown> => vscode.workspace.getConfiguration(section).get('exclude') ?? {};
  return Object.entries({ ...named('files'), ...named('search') }).flatMap(([glob, on]) => (on === true ? [glob] : []));
}

export function onSettings(section: string, listener: () => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration(section)) listener();
  });
}

/** A user-level setting. The manifest gives it that scope, too; values from a workspace are ignored. */
function personal(key: string): unknown {
  return vscode.workspace.getConfiguration('parley').inspect(key)?.globalValue;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

/** Opens all settings. In a remote window they are on two pages: those of the machine that agents run on, and the user's own. */
export async function openAllSettings(inputs: Pick<QuickInputs, 'pick'>, extensionId: string): Promise<void> {
  const query = `@ext:${extensionId}`;
  if (vscode.env.remoteName === undefined) return openSettings(query);
  const page = await inputs.pick<'machine' | 'user'>(
    [
      { label: vscode.l10n.t('Agents and models of this machine'), value: 'machine' },
      { label: vscode.l10n.t('Approvals, following and log, for all machines'), value: 'user' },
    ],
    { title: commandTitle('openSettings') },
  );
  if (page === 'machine') await openSettings(query);
  if (page === 'user') await vscode.commands.executeCommand('workbench.action.openSettings', query);
}

/**
 * Opens the settings page that applies: machine-scoped settings belong to the machine the window works on, so a remote window has a page of its own
 * for them, and the user's settings page would show none of Parley's.
 */
export async function openSettings(query: string): Promise<void> {
  if (vscode.env.remoteName === undefined) await vscode.commands.executeCommand('workbench.action.openSettings', query);
  else await vscode.commands.executeCommand('workbench.action.openRemoteSettings', { query });
}
