import * as vscode from 'vscode';
import * as z from 'zod/mini';
import type { QuickInputs } from './quickInputs.ts';
import type { Secrets } from './secrets.ts';
import { type ModelSettings, modelSettings, setModel } from './settings.ts';

interface Preset {
  readonly name: string;
  readonly baseUrl: string;
  readonly needsKey: boolean;
}
const PRESETS: readonly Preset[] = [
  { name: 'Ollama', baseUrl: 'http://localhost:11434/v1', needsKey: false },
  { name: 'LM Studio', baseUrl: 'http://localhost:1234/v1', needsKey: false },
  { name: 'vLLM', baseUrl: 'http://localhost:8000/v1', needsKey: false },
  { name: 'OpenAI', baseUrl: 'https://api.openai.com/v1', needsKey: true },
];
const models = z.object({ data: z.array(z.object({ id: z.string() })) });
/** Milliseconds for the list of models. */
const LIST_LIMIT = 5000;

/** Asks for endpoint, key and model, one after another; nothing is stored before the last answer. */
export async function configureModel(inputs: QuickInputs, secrets: Secrets): Promise<void> {
  const now = modelSettings();
  const title = vscode.l10n.t('Configure Model');
  const preset = await inputs.pick<Preset | 'custom' | 'none'>(
    [
      ...PRESETS.map((one) => ({ label: one.name, description: one.baseUrl, value: one })),
      { label: vscode.l10n.t('Another OpenAI-compatible endpoint…'), description: now.baseUrl, value: 'custom' },
      { label: vscode.l10n.t('No model: use the offline guide'), value: 'none' },
    ],
    { title, placeholder: vscode.l10n.t('Where does the model run?') },
  );
  if (preset === undefined) return;
  if (preset === 'none') {
    await setModel({ baseUrl: '', name: '' });
    return;
  }
  const baseUrl = preset === 'custom' ? await askUrl(inputs, title, now.baseUrl) : preset.baseUrl;
  if (baseUrl === undefined) return;
  const known = baseUrl === now.baseUrl ? await secrets.modelKey() : undefined;
  const key = await askKey(inputs, title, known !== undefined, typeof preset === 'object' && preset.needsKey);
  if (key === undefined) return;
  const name = await askName(inputs, title, baseUrl, key.value ?? (key.keep ? known : undefined), now);
  if (name === undefined) return;
  if (!key.keep) await secrets.setModelKey(key.value);
  await setModel({ baseUrl, name, ...(name === now.name && now.contextSize !== undefined ? { contextSize: now.contextSize } : {}) });
  void vscode.window.showInformationMessage(vscode.l10n.t('The bundled agent now uses {0}.', name));
}

function askUrl(inputs: QuickInputs, title: string, value: string): Promise<string | undefined> {
  return inputs
    .input({
      title,
      value,
      prompt: vscode.l10n.t('Address of the endpoint, up to and including /v1'),
      placeholder: 'https://models.example.com/v1',
      check: (text) => (isAddress(text.trim()) ? undefined : vscode.l10n.t('An address begins with http:// or https://')),
    })
    .then((text) => text?.trim().replace(/\/+$/, ''));
}

/** keep: the stored key stays. */
interface Key {
  readonly keep: boolean;
  readonly value?: string;
}

async function askKey(inputs: QuickInputs, title: string, has: boolean, needs: boolean): Promise<Key | undefined> {
  const text = await inputs.input({
    title,
    password: true,
    prompt: has
      ? vscode.l10n.t('Key. Leave it empty to keep the stored one.')
      : vscode.l10n.t('Key; it is kept in the editor’s secret storage. Leave it empty if there is none.'),
    check: (value) => (needs && !has && !value.trim() ? vscode.l10n.t('This endpoint needs a key.') : undefined),
  });
  if (text === undefined) return undefined;
  const value = text.trim();
  if (value) return { keep: false, value };
  return { keep: has };
}

async function askName(
  inputs: QuickInputs,
  title: string,
  baseUrl: string,
  key: string | undefined,
  now: ModelSettings,
): Promise<string | undefined> {
  const listed = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: vscode.l10n.t('Asking for models…') },
    () => listModels(baseUrl, key),
  );
  const byHand = () =>
    inputs
      .input({
        title,
        value: baseUrl === now.baseUrl ? now.name : '',
        prompt: listed.problem
          ? vscode.l10n.t('The endpoint did not list its models ({0}). Type the name of one.', listed.problem)
          : vscode.l10n.t('Name of the model'),
        check: (text) => (text.trim() ? undefined : vscode.l10n.t('A name is needed.')),
      })
      .then((text) => text?.trim());
  if (listed.names.length === 0) return byHand();
  const other = Symbol('other');
  const chosen = await inputs.pick<string | typeof other>(
    [
      ...listed.names.map((name) => ({ label: name, description: name === now.name ? vscode.l10n.t('current') : '', value: name })),
      { label: `$(edit) ${vscode.l10n.t('Other…')}`, alwaysShow: true, value: other },
    ],
    { title, placeholder: vscode.l10n.t('Which model?') },
  );
  return typeof chosen === 'symbol' ? byHand() : chosen;
}

async function listModels(
  baseUrl: string,
  key: string | undefined,
): Promise<{ readonly names: readonly string[]; readonly problem?: string }> {
  try {
    const response = await fetch(`${baseUrl}/models`, {
      headers: key ? { authorization: `Bearer ${key}` } : {},
      signal: AbortSignal.timeout(LIST_LIMIT),
    });
    if (!response.ok) return { names: [], problem: `HTTP ${response.status}` };
    const parsed = models.safeParse(await response.json());
    if (!parsed.success) return { names: [], problem: vscode.l10n.t('no list of models came back') };
    return { names: parsed.data.data.map((one) => one.id).slice(0, 500) };
  } catch (error) {
    return { names: [], problem: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}

function isAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
