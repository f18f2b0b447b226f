import { t } from '../../../base/l10n.ts';
import type { SessionEvent } from '../../../session/events.ts';
import type { OptionChoice, SessionOption } from '../../../session/model.ts';
import type { Outgoing } from '../control.ts';
import type { Peer } from '../peers.ts';
import type { Turns } from '../turns.ts';
import { modelList, modeReply } from './schema.ts';

const MODEL = 'model';
const EFFORT = 'effort';
const EFFORTS: readonly OptionChoice[] = ['low', 'medium', 'high', 'xhigh', 'max'].map((value) => ({ value, name: value }));

export interface ChoiceDeps {
  readonly emit: (event: SessionEvent) => void;
  readonly newId: () => string;
  readonly peer: Peer;
  readonly outgoing: Outgoing;
  readonly turns: Turns;
}

/** What a user may choose for the session: mode, model, effort. The agent's reply decides what is shown (qwen.md §3.2, §3.4). */
export class Choices {
  readonly #deps: ChoiceDeps;
  #mode: string | undefined;
  #model: string | undefined;
  #models: readonly OptionChoice[] = [];
  #effort: string | undefined;
  #hasEffort = false;
  /** A change of mode that waits for the user's yes, by its ask. */
  #unattended = new Map<string, string>();

  constructor(deps: ChoiceDeps) {
    this.#deps = deps;
  }

  /** What the agent says its mode is. */
  modeIs(mode: string): void {
    if (mode === this.#mode) return;
    this.#mode = mode;
    const modes = this.#deps.peer.modes();
    const all = modes.some((one) => one.id === mode) ? modes : [...modes, { id: mode, name: mode }];
    this.#deps.emit({ type: 'mode.set', mode: { current: mode, all } });
  }

  /** The mode it was started in holds until the agent says another. */
  startedIn(mode: string): void {
    if (this.#mode === undefined) this.modeIs(mode);
  }

  modelIs(model: string): void {
    if (model === this.#model) return;
    this.#model = model;
    this.#show();
  }

  modelsAre(models: readonly OptionChoice[]): void {
    this.#models = models;
    this.#show();
  }

  /** The agent can be told how much to think. */
  effortExists(): void {
    this.#hasEffort = true;
    this.#show();
  }

  async loadModels(): Promise<void> {
    const reply = await this.#deps.outgoing.ask({ subtype: 'get_available_models' });
    const parsed = modelList.safeParse(reply.ok ? reply.payload : undefined);
    if (parsed.success) this.modelsAre(parsed.data.models.map(({ id, label }) => ({ value: id, name: label ?? id })));
  }

  /** A user's own choice, in the menu or with an approval. Modes in which nobody is asked any more need a yes of their own. */
  chooseMode(mode: string): void {
    if (!this.#deps.peer.unattended.includes(mode)) return void this.#setMode(mode);
    const name = this.#deps.peer.modes().find((one) => one.id === mode)?.name ?? mode;
    const id = this.#deps.newId();
    this.#unattended.set(id, mode);
    this.#deps.emit({
      type: 'ask.opened',
      ask: {
        kind: 'approval',
        id,
        title: t('Change to mode "{0}"?', name),
        detail: { type: 'text', text: t('In this mode {0} edits files and runs commands without asking you.', this.#deps.peer.called) },
        wordless: true,
        ours: true,
        options: [
          { id: 'yes', label: t('Change to {0}', name), effect: 'allow_once' },
          { id: 'no', label: t('Stay'), effect: 'reject_once' },
        ],
      },
    });
  }

  /** True when the ask was one of these. */
  answer(askId: string, yes: boolean): boolean {
    const mode = this.#unattended.get(askId);
    if (mode === undefined) return false;
    this.#unattended.delete(askId);
    this.#deps.emit({ type: 'ask.closed', askId, how: 'answered' });
    if (yes) void this.#setMode(mode);
    return true;
  }

  choose(optionId: string, value: string | boolean): void {
    if (typeof value !== 'string') return;
    if (optionId === MODEL) void this.#setModel(value);
    if (optionId === EFFORT) void this.#setEffort(value);
  }

  end(): void {
    for (const askId of [...this.#unattended.keys()]) this.#deps.emit({ type: 'ask.closed', askId, how: 'cancelled' });
    this.#unattended.clear();
  }

  async #setMode(mode: string): Promise<void> {
    const reply = await this.#deps.outgoing.ask({ subtype: 'set_permission_mode', mode });
    if (!reply.ok) return this.#refused(t('The agent did not change its mode: {0}', reply.message));
    const parsed = modeReply.safeParse(reply.payload);
    this.modeIs(parsed.success ? parsed.data.mode : mode);
  }

  async #setModel(model: string): Promise<void> {
    const reply = await this.#deps.outgoing.ask({ subtype: 'set_model', model });
    if (reply.ok) this.modelIs(model);
    else this.#refused(t('The agent did not change its model: {0}', reply.message));
  }

  async #setEffort(effort: string): Promise<void> {
    const reply = await this.#deps.outgoing.ask({ subtype: 'set_effort', effort });
    if (!reply.ok) return this.#refused(t('The agent did not change its effort: {0}', reply.message));
    this.#effort = effort;
    this.#show();
  }

  #refused(why: string): void {
    this.#deps.turns.note('warn', why);
  }

  #show(): void {
    const options: SessionOption[] = [];
    const current = this.#model;
    if (current !== undefined && this.#models.length > 0) {
      const listed = this.#models.some((one) => one.value === current);
      const choices = listed ? this.#models : [{ value: current, name: current }, ...this.#models];
      options.push({ id: MODEL, name: t('Model'), about: 'model', kind: 'choice', current, choices });
    }
    if (this.#hasEffort) {
      const effort = this.#effort ?? '';
      const choices = effort === '' ? [{ value: '', name: t('Default') }, ...EFFORTS] : EFFORTS;
      options.push({ id: EFFORT, name: t('Effort'), about: 'thought', kind: 'choice', current: effort, choices });
    }
    this.#deps.emit({ type: 'options.set', options });
  }
}
