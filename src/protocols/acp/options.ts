import type { SessionEvent } from '../../session/events.ts';
import type { OptionChoice, SessionOption } from '../../session/model.ts';
import type { Dialect } from './dialect.ts';
import type { ConfigOption, Models, Modes, SessionAnswer } from './schema.ts';

/**
 * The settings of a session, in whichever of three dialects the agent has: config options win over modes and legacy models (acp.md §5). The
 * option of the category "mode" is the session's mode; the others are its options.
 */
export class Settings {
  /** How the version of the protocol that is spoken puts a value. */
  readonly #said: Dialect['optionValue'];
  #modes: Modes | undefined;
  #models: Models | undefined;
  #config: readonly ConfigOption[] = [];

  constructor(said: Dialect['optionValue']) {
    this.#said = said;
  }

  /** From the answer that opened the session. */
  take(answer: Pick<SessionAnswer, 'modes' | 'models' | 'configOptions'>): readonly SessionEvent[] {
    this.#modes = answer.modes ?? undefined;
    this.#models = answer.models ?? undefined;
    this.#config = answer.configOptions ?? [];
    return this.#events();
  }

  /** The complete list, as an update or an answer carries it. */
  replaceConfig(config: readonly ConfigOption[]): readonly SessionEvent[] {
    this.#config = config;
    return this.#events();
  }

  /** What the answer to a request says has changed, or what the request was for. */
  answered(request: SettingRequest, answer: SessionAnswer | null | undefined): readonly SessionEvent[] {
    return answer?.configOptions ? this.replaceConfig(answer.configOptions) : request.done();
  }

  modeChanged(id: string): readonly SessionEvent[] {
    if (this.#modes) this.#modes = { ...this.#modes, currentModeId: id };
    return this.#modeOption() ? [] : this.#events();
  }

  /** The request that chooses a mode; undefined when there is no such mode. */
  requestMode(id: string): SettingRequest | undefined {
    const option = this.#modeOption();
    if (option) return choicesOf(option).some((choice) => choice.value === id) ? this.#request(option, id) : undefined;
    if (!this.#modes?.availableModes.some((mode) => mode.id === id)) return undefined;
    return { method: 'session/set_mode', params: { modeId: id }, done: () => this.modeChanged(id) };
  }

  /** The request that sets an option; undefined when it does not exist or does not take the value. */
  requestOption(id: string, value: string | boolean): SettingRequest | undefined {
    const option = this.#config.find((one) => one.id === id);
    if (option?.type === 'boolean') return typeof value === 'boolean' ? this.#request(option, value) : undefined;
    if (typeof value !== 'string') return undefined;
    if (option) return choicesOf(option).some((choice) => choice.value === value) ? this.#request(option, value) : undefined;
    if (id !== MODEL || !this.#models?.availableModels.some((model) => model.modelId === value)) return undefined;
    const models = this.#models;
    return {
      method: 'session/set_model',
      params: { modelId: value },
      done: () => {
        this.#models = { ...models, currentModelId: value };
        return this.#events();
      },
    };
  }

  #request(option: ConfigOption, value: string | boolean): SettingRequest {
    return { method: 'session/set_config_option', params: { configId: option.id, ...this.#said(value) }, done: () => [] };
  }

  #modeOption(): Extract<ConfigOption, { type: 'select' }> | undefined {
    const option = this.#config.find((one) => one.category === 'mode');
    return option?.type === 'select' ? option : undefined;
  }

  #events(): readonly SessionEvent[] {
    const mode = this.#modeOption();
    const events: SessionEvent[] = [];
    if (mode) {
      const all = choicesOf(mode).map(({ value, name, description }) => ({ id: value, name, ...(description ? { description } : {}) }));
      events.push({ type: 'mode.set', mode: { current: mode.currentValue, all } });
    } else if (this.#config.length === 0 && this.#modes && this.#modes.availableModes.length > 0) {
      const all = this.#modes.availableModes.map(({ id, name, description }) => ({ id, name, ...(description ? { description } : {}) }));
      events.push({ type: 'mode.set', mode: { current: this.#modes.currentModeId, all } });
    } else {
      events.push({ type: 'mode.set', mode: null });
    }
    // A list without choices is nothing to choose from.
    const shown = this.#config.filter((one) => one !== mode && (one.type === 'boolean' || choicesOf(one).length > 0));
    const options = this.#config.length > 0 ? shown.map(toOption) : this.#legacyModels();
    events.push({ type: 'options.set', options });
    return events;
  }

  #legacyModels(): readonly SessionOption[] {
    if (!this.#models || this.#models.availableModels.length === 0) return [];
    const choices = this.#models.availableModels.map(({ modelId, name, description }) => ({
      value: modelId,
      name,
      ...(description ? { description } : {}),
    }));
    return [{ id: MODEL, name: 'Model', about: 'model', kind: 'choice', current: this.#models.currentModelId, choices }];
  }
}

/** A request without its session id; `done` gives what has changed when the agent's answer says nothing about it. */
export interface SettingRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly done: () => readonly SessionEvent[];
}

/** What the legacy list of models is called among the options; config options have names of their own. */
const MODEL = 'model';

function toOption(option: ConfigOption): SessionOption {
  const about = option.category === 'model' ? 'model' : option.category === 'thought_level' ? 'thought' : undefined;
  const head = {
    id: option.id,
    name: option.name,
    ...(option.description ? { description: option.description } : {}),
    ...(about ? ({ about } as const) : {}),
  };
  if (option.type === 'boolean') return { ...head, kind: 'switch', on: option.currentValue };
  return { ...head, kind: 'choice', current: option.currentValue, choices: choicesOf(option) };
}

function choicesOf(option: Extract<ConfigOption, { type: 'select' }>): readonly OptionChoice[] {
  return option.options.flatMap((one) =>
    'group' in one ? one.options.map((value) => toChoice(value, one.name)) : [toChoice(one, undefined)],
  );
}

function toChoice(
  value: { readonly value: string; readonly name: string; readonly description?: string | null | undefined },
  group?: string,
) {
  return {
    value: value.value,
    name: value.name,
    ...(value.description ? { description: value.description } : {}),
    ...(group === undefined ? {} : { group }),
  };
}
