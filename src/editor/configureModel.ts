import { setTimeout as pause } from 'node:timers/promises';
import * as vscode from 'vscode';
import { asSentence, inSentences, t } from '../base/l10n.ts';
import type { ModelLine } from '../bridge/contract.ts';
import { commandTitle } from './commandTitle.ts';
import { endpoints, type KnownEndpoint, runningEndpoint } from './endpoints.ts';
import { listModels } from './models.ts';
import type { PickChoice, QuickInputs } from './quickInputs.ts';
import type { EditorSecrets } from './secrets.ts';
import { type ModelSettings, modelSettings, setModel } from './settings.ts';

/** The answers so far. Nothing is stored before the last answer. */
interface Draft {
  readonly name: string;
  readonly baseUrl: string;
  readonly needsKey: boolean;
  /** The key is always asked for, as the needs of a custom endpoint are unknown. */
  readonly custom?: true;
  readonly key?: string | undefined;
}
type DialogStep<T> = { readonly kind: 'back' } | { readonly kind: 'next'; readonly value: T } | undefined;
const BACK = { kind: 'back' } as const;

export type ConfigureInputs = Pick<QuickInputs, 'pick' | 'input' | 'holding'>;

/**
 * Endpoint, key and model in three steps with a way back; skips a step that has nothing to ask. `start` is an endpoint chosen already. Returns what
 * keeps the choice, so that the caller moves the focus first: keeping takes a while, and the user goes on meanwhile. Undefined when the user left.
 */
export async function configureModel(
  inputs: ConfigureInputs,
  secrets: Pick<EditorSecrets, 'modelKey' | 'setModelKey'>,
  start?: KnownEndpoint,
): Promise<(() => Promise<void>) | undefined> {
  const now = modelSettings();
  const known = await secrets.modelKey();
  let draft: Draft | undefined = start;
  for (;;) {
    draft ??= await pickEndpoint(inputs, now);
    if (!draft) return undefined;
    if (draft.baseUrl === '') return () => setModel({ baseUrl: '', name: '' });
    const { baseUrl } = draft;
    const stored = baseUrl === now.baseUrl ? known : undefined;
    const chosen = await keyAndModel(inputs, draft, stored, now);
    if (!chosen) return undefined;
    if (chosen.kind === 'next') {
      const { name, key } = chosen.value;
      const contextSize = name === now.name && now.contextSize !== undefined ? { contextSize: now.contextSize } : {};
      return async () => {
        if (key !== known) await secrets.setModelKey(key);
        await setModel({ baseUrl, name, ...contextSize });
      };
    }
    draft = undefined;
  }
}

/** Milliseconds that the servers of this computer get before the list is shown: those that run by then lead it. One that comes later is marked in its place. */
const RUNNING_FIRST = 500;

async function pickEndpoint(inputs: ConfigureInputs, now: ModelSettings): Promise<Draft | undefined> {
  type Picked = KnownEndpoint | 'custom' | 'none';
  const known = endpoints(vscode.env.language).map((one) => ({ one, probe: one.needsKey ? undefined : runningEndpoint(one) }));
  const running = new Set<KnownEndpoint>();
  const probed = Promise.all(known.map(async ({ one, probe }) => (await probe) && running.add(one)));
  await inputs.holding('configureModel', Promise.race([probed, pause(RUNNING_FIRST, undefined, { ref: false })]));
  const sorted = [...known.filter(({ one }) => running.has(one)), ...known.filter(({ one }) => !running.has(one))];
  const rows: PickChoice<Picked>[] = sorted.map(({ one, probe }) => ({
    label: one.name,
    description: one.baseUrl === now.baseUrl ? vscode.l10n.t('current') : '',
    detail: one.baseUrl,
    value: one,
    ...(probe === undefined ? {} : { late: probe.then((models) => models && vscode.l10n.t('running, {0} models', models.length)) }),
  }));
  for (;;) {
    const picked = await inputs.pick<Picked>(
      [
        ...rows,
        { label: vscode.l10n.t('Another OpenAI-compatible endpoint…'), description: now.baseUrl, value: 'custom' },
        {
          label: vscode.l10n.t('No model'),
          detail: vscode.l10n.t('The built-in guide follows fixed rules: it searches, edits and runs commands.'),
          value: 'none',
        },
      ],
      { title: title(), placeholder: vscode.l10n.t('Search'), step: 1 },
    );
    if (picked === undefined) return undefined;
    if (picked === 'none') return { name: '', baseUrl: '', needsKey: false };
    if (picked !== 'custom') return picked;
    const url = await askUrl(inputs, now.baseUrl);
    if (url === undefined) return undefined;
    if (url !== '') return { name: new URL(url).host, baseUrl: url, needsKey: false, custom: true };
  }
}

/** Returns '' when the user goes back. */
async function askUrl(inputs: ConfigureInputs, value: string): Promise<string | undefined> {
  const text = await inputs.input({
    title: title(),
    step: 1,
    back: '',
    value,
    prompt: addressHint(),
    placeholder: 'https://models.example.com/v1',
    check: (typed) => (isAddress(typed.trim()) ? undefined : vscode.l10n.t('“{0}” is not an http or https address.', typed)),
  });
  return text?.trim().replace(/\/+$/, '');
}

/** The second and the third step; asks again for a key that the endpoint refuses. */
async function keyAndModel(
  inputs: ConfigureInputs,
  draft: Draft,
  stored: string | undefined,
  now: ModelSettings,
): Promise<DialogStep<{ readonly name: string; readonly key: string | undefined }>> {
  const asks = draft.needsKey || draft.custom === true;
  let key = stored;
  let refused = false;
  for (;;) {
    if (asks && (key === undefined || refused)) {
      const typed = await askKey(inputs, draft, refused);
      if (typed === undefined || typed.kind === 'back') return typed;
      key = typed.value === '' ? undefined : typed.value;
    }
    const listing = listModels(draft.baseUrl, key).catch((error: Error) => error);
    // A server may take seconds: an indicator is shown, and it receives the keys that are pressed meanwhile.
    await inputs.holding('configureModel', listing);
    const listed = await listing;
    refused = listed instanceof Error && /^HTTP 40[13]\.$/.test(listed.message);
    if (refused && asks) continue;
    const isDown = listed instanceof Error && !asks;
    const next = isDown ? await askAgain(inputs, draft, listed) : 'name';
    if (next === 'again') continue;
    if (next === undefined) return undefined;
    const name = next === 'back' ? BACK : await askName(inputs, draft, listed, now);
    if (!name) return undefined;
    if (name.kind === 'next') return { kind: 'next', value: { name: name.value, key } };
    if (!asks || stored !== undefined) return BACK;
    key = undefined;
  }
}

async function askKey(inputs: ConfigureInputs, { name, needsKey }: Draft, refused: boolean): Promise<DialogStep<string>> {
  const back = '\0';
  const whichKey = t('API key for {0}{1||, if it needs one}. It is kept in secret storage.', name, needsKey ? 1 : 2);
  const text = await inputs.input({
    title: title(),
    step: 2,
    back,
    password: true,
    prompt: refused ? vscode.l10n.t('{0} did not accept the key.', name) : whichKey,
    check: (typed) => (needsKey && typed.trim() === '' ? vscode.l10n.t('Needed') : undefined),
  });
  if (text === undefined || text === back) return text === undefined ? undefined : BACK;
  return { kind: 'next', value: text.trim() };
}

/** A program of this computer that does not answer is most often not running yet. */
function askAgain(inputs: ConfigureInputs, draft: Draft, problem: Error): Promise<'again' | 'name' | 'back' | undefined> {
  return inputs.pick<'again' | 'name' | 'back'>(
    [
      { label: `$(refresh) ${vscode.l10n.t('Try again')}`, value: 'again' },
      { label: `$(edit) ${vscode.l10n.t('Other…')}`, value: 'name' },
    ],
    // A title wraps.
    { title: unlisted(draft, problem), step: 3, back: 'back' },
  );
}

async function askName(
  inputs: ConfigureInputs,
  draft: Draft,
  listed: readonly ModelLine[] | Error,
  now: ModelSettings,
): Promise<DialogStep<string>> {
  const models = listed instanceof Error ? [] : listed;
  const byHand = Symbol('by hand');
  const back = Symbol('back');
  if (models.length > 0) {
    const unit = models.some(({ price }) => price) ? [vscode.l10n.t('For a million tokens: in / out')] : [];
    const chosen = await inputs.pick<string | symbol>(
      [
        ...models.map(({ name, price }) => ({
          label: name,
          description: [name === now.name ? vscode.l10n.t('current') : '', price ?? ''].filter(Boolean).join(' · '),
          value: name,
        })),
        { label: `$(edit) ${vscode.l10n.t('Other…')}`, alwaysShow: true, value: byHand },
      ],
      { title: title(), placeholder: [vscode.l10n.t('Model'), ...unit].join(' · '), step: 3, back },
    );
    if (chosen === undefined) return undefined;
    if (chosen === back) return BACK;
    if (typeof chosen === 'string') return { kind: 'next', value: chosen };
  }
  const typed = await inputs.input({
    title: title(),
    step: 3,
    back: '',
    value: draft.baseUrl === now.baseUrl ? now.name : '',
    prompt: listed instanceof Error ? unlisted(draft, listed) : vscode.l10n.t('Model'),
    check: (text) => (text.trim() ? undefined : vscode.l10n.t('Needed')),
  });
  if (typed === undefined) return undefined;
  return typed === '' ? BACK : { kind: 'next', value: typed.trim() };
}

function unlisted(draft: Draft, problem: Error): string {
  return vscode.l10n.t('{0} did not list its models. {1} You can type the name of one.', draft.name, whyUnlisted(draft, problem));
}

function whyUnlisted({ custom }: Draft, { message }: Error): string {
  // A server that responds, but not as one with models: most often something is missing at the end of the address.
  const isElsewhere = custom && (message === '' || /^HTTP 40[45]\.$/.test(message));
  return isElsewhere ? inSentences(message, addressHint()) : asSentence(message);
}

function addressHint(): string {
  return vscode.l10n.t('Enter the address up to and including /v1.');
}

function title(): string {
  return commandTitle('configureModel');
}

function isAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
