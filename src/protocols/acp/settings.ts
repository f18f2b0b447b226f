import { t } from '../../base/l10n.ts';
import { find, keys, put, remove, type Table } from '../../conversation/state.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Notice, OptionChoice, PlanEntry, SessionOption } from '../../session/model.ts';
import { toContent } from './codec.ts';
import {
  type ConfigOption,
  type KeyedPlan,
  leftOut,
  MOST_STEPS,
  type Models,
  type Modes,
  type SessionAnswer,
  type SessionUpdate,
  type WireCommand,
  type WirePlanEntry,
} from './schema.ts';

/* State of a session besides its turns: modes, models and options (in any of the three forms that agents use), plans, commands. */

/** Config options win over legacy models. An option of the category "mode" is the session's mode; without one the modes are. */
export interface AcpSettings {
  modes: Modes | null;
  models: Models | null;
  config: readonly ConfigOption[];
}
export const noSettings = (): AcpSettings => ({ modes: null, models: null, config: [] });

/** A request without its session id, and what it changes when the agent's answer does not name the change. */
export interface SettingRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly done: { readonly modeId: string } | { readonly modelId: string } | null;
}
type SelectOption = Extract<ConfigOption, { type: 'select' }>;

/** From the answer that opened the session. */
export function takeSettings(settings: AcpSettings, answer: Pick<SessionAnswer, 'modes' | 'models' | 'configOptions'>): void {
  settings.modes = answer.modes ?? null;
  settings.models = answer.models ?? null;
  settings.config = answer.configOptions ?? [];
}

/** Notes that the agent has changed the mode; gives the events, unless an option represents the mode. */
function changeMode(settings: AcpSettings, id: string): readonly SessionEvent[] {
  if (!settings.modes) return [];
  settings.modes = { ...settings.modes, currentModeId: id };
  // The options are what they were: thousands of changes do not write them all again.
  return modeOption(settings) ? [] : [{ type: 'mode.set', mode: modeChoice(settings, undefined) }];
}
export function settingDone(settings: AcpSettings, done: SettingRequest['done']): readonly SessionEvent[] {
  if (done && 'modeId' in done) return changeMode(settings, done.modeId);
  if (!done || !settings.models) return [];
  settings.models = { ...settings.models, currentModelId: done.modelId };
  return settingEvents(settings);
}

/** The request that chooses a mode; undefined when there is no such mode. `value` puts a value as the protocol's version has it. */
export function modeRequest(settings: AcpSettings, id: string, value: (value: string) => object): SettingRequest | undefined {
  const option = modeOption(settings);
  if (option) return choicesOf(option).some((choice) => choice.value === id) ? optionRequestFor(option, value(id)) : undefined;
  if (!settings.modes?.availableModes.some((mode) => mode.id === id)) return undefined;
  return { method: 'session/set_mode', params: { modeId: id }, done: { modeId: id } };
}
/** The request that sets an option; undefined when it does not exist or does not take the value. */
export function optionRequest(
  settings: AcpSettings,
  id: string,
  given: string | boolean,
  value: (value: string | boolean) => object,
): SettingRequest | undefined {
  const option = settings.config.find((one) => one.id === id);
  if (option?.type === 'boolean') return typeof given === 'boolean' ? optionRequestFor(option, value(given)) : undefined;
  if (typeof given !== 'string') return undefined;
  if (option) return choicesOf(option).some((choice) => choice.value === given) ? optionRequestFor(option, value(given)) : undefined;
  if (id !== MODEL || !settings.models?.availableModels.some((model) => model.modelId === given)) return undefined;
  return { method: 'session/set_model', params: { modelId: given }, done: { modelId: given } };
}
function optionRequestFor(option: ConfigOption, value: object): SettingRequest {
  return { method: 'session/set_config_option', params: { configId: option.id, ...value }, done: null };
}

function modeOption({ config }: AcpSettings): SelectOption | undefined {
  const option = config.find((one) => one.category === 'mode');
  return option?.type === 'select' ? option : undefined;
}

export function settingEvents(settings: AcpSettings): readonly SessionEvent[] {
  const { config } = settings;
  const mode = modeOption(settings);
  // A list without choices is nothing to choose from.
  const options = config.filter((one) => one !== mode && (one.type === 'boolean' || choicesOf(one).length > 0));
  return [
    { type: 'mode.set', mode: modeChoice(settings, mode) },
    { type: 'options.set', options: config.length > 0 ? options.map(toOption) : legacyModels(settings.models) },
  ];
}
function modeChoice({ modes }: AcpSettings, option: SelectOption | undefined) {
  if (option) {
    const all = choicesOf(option).map(({ value, ...rest }) => ({ id: value, ...described(rest) }));
    return { current: option.currentValue, all };
  }
  if (!modes || modes.availableModes.length === 0) return null;
  const all = modes.availableModes.map(({ id, ...rest }) => ({ id, ...described(rest) }));
  return { current: modes.currentModeId, all };
}
function legacyModels(models: Models | null): readonly SessionOption[] {
  if (!models || models.availableModels.length === 0) return [];
  const choices = models.availableModels.map(({ modelId, ...rest }) => ({ value: modelId, ...described(rest) }));
  return [{ id: MODEL, name: 'Model', about: 'model', kind: 'choice', current: models.currentModelId, choices }];
}

/** Names the legacy list of models among the options; config options have names of their own. */
const MODEL = 'model';

function toOption(option: ConfigOption): SessionOption {
  const about = option.category === 'model' ? 'model' : option.category === 'thought_level' ? 'thought' : undefined;
  const head = { id: option.id, ...described(option), ...(about ? ({ about } as const) : {}) };
  if (option.type === 'boolean') return { ...head, kind: 'switch', on: option.currentValue };
  return { ...head, kind: 'choice', current: option.currentValue, choices: choicesOf(option) };
}
function choicesOf(option: SelectOption): readonly OptionChoice[] {
  return option.options.flatMap((one) =>
    'group' in one
      ? one.options.map((choice) => ({ value: choice.value, ...described(choice), group: one.name }))
      : [{ value: one.value, ...described(one) }],
  );
}
interface Described {
  readonly name: string;
  readonly description?: string | null | undefined;
}
function described({ name, description }: Described) {
  return { name, ...(description ? { description } : {}) };
}

/** Converts updates of the session, rather than of a turn, to events. Stores settings and plans. */
export function eventsOf(update: SessionUpdate, settings: AcpSettings, plans: Plans): readonly SessionEvent[] {
  switch (update.sessionUpdate) {
    case 'plan':
      return [planOf(plans, '', update.entries)];
    case 'plan_update':
      return [keyedPlan(plans, update.plan)];
    case 'plan_removed':
      return [planOf(plans, update.planId, [])];
    case 'available_commands_update':
      return [commandsSet(update.availableCommands)];
    case 'current_mode_update': {
      const id = update.currentModeId ?? update.modeId;
      return id == null ? [] : changeMode(settings, id);
    }
    case 'config_option_update':
      settings.config = update.configOptions;
      return settingEvents(settings);
    case 'session_info_update':
      // Absent is unchanged, null clears.
      return update.title === undefined ? [] : [{ type: 'title.set', title: (update.title ?? '').slice(0, 500) }];
    case 'usage_update': {
      const { used, size, cost } = update;
      const usage = {
        ...(used == null || used < 0 ? {} : { used }),
        ...(size == null || size <= 0 ? {} : { size }),
        ...(cost == null ? {} : { cost }),
      };
      return [{ type: 'usage.set', usage }];
    }
    default:
      return [];
  }
}
export function noticeOf({ severity, title, description }: Extract<SessionUpdate, { sessionUpdate: 'notice' }>): Notice {
  const level = severity === 'error' ? 'error' : severity === 'warning' ? 'warn' : 'info';
  return { level, text: [title, description].filter(Boolean).join('\n') };
}

// --- plans: one without a name, or several with one, shown as one list in the order they came up

export type Plans = Table<readonly PlanEntry[]>;
/** Named plans of one session: each change shows all of them again. */
const MOST_PLANS = 100;

function planOf(plans: Plans, key: string, entries: readonly WirePlanEntry[]): SessionEvent {
  return setPlan(plans, key, entries.flatMap(toEntry));
}
function keyedPlan(plans: Plans, plan: KeyedPlan): SessionEvent {
  switch (plan.type) {
    case 'items':
      return planOf(plans, plan.planId, plan.entries);
    case 'markdown':
      return setPlan(plans, plan.planId, listItems(plan.content));
    case 'file': {
      const file = toContent({ type: 'resource_link', uri: plan.uri, name: plan.uri });
      return setPlan(plans, plan.planId, [{ text: `${t('Plan')}: ${file.type === 'file' ? file.path : plan.uri}`, status: 'pending' }]);
    }
  }
}
function setPlan(plans: Plans, key: string, entries: readonly PlanEntry[]): SessionEvent {
  if (entries.length === 0) remove(plans, key);
  else if (find(plans, key) || keys(plans).length < MOST_PLANS) put(plans, key, entries);
  const steps = Object.values(plans).flat();
  const left = steps.length - MOST_STEPS;
  const all = left > 0 ? [...steps.slice(0, MOST_STEPS), { text: leftOut(left), status: 'pending' as const }] : steps;
  return { type: 'plan.set', plan: all.length === 0 ? null : { entries: all } };
}

/** Cancelled entries are left out of the plan. */
function toEntry({ content, status, priority }: WirePlanEntry): readonly PlanEntry[] {
  if (status === 'cancelled') return [];
  return [
    {
      text: content,
      status: status === 'completed' || status === 'in_progress' ? status : 'pending',
      ...(priority === 'high' || priority === 'medium' || priority === 'low' ? { priority } : {}),
    },
  ];
}

/** The list items of a text; where there are none, its lines. */
function listItems(markdown: string): readonly PlanEntry[] {
  const lines = markdown.split(/\r?\n/, 2 * MOST_STEPS).filter((line) => line.trim() !== '');
  const items = lines.flatMap((line) => {
    const [, box, text] = /^\s*(?:[-*+]|\d+[.)])\s+(?:\[([ xX~-])\]\s+)?(\S.*)$/.exec(line) ?? [];
    return text === undefined ? [] : [{ text, box }];
  });
  if (items.length === 0) return lines.map((text) => ({ text, status: 'pending' }));
  return items.map(({ text, box }) => ({
    text,
    status: box === 'x' || box === 'X' ? 'completed' : box === '~' ? 'in_progress' : 'pending',
  }));
}

// --- commands

export function commandsSet(commands: readonly WireCommand[]): SessionEvent {
  return {
    type: 'commands.set',
    commands: commands.slice(0, 1000).map(({ name, description, input }) => ({
      name,
      description: short(description ?? ''),
      aliases: [],
      ...(input?.hint ? { hint: short(input.hint) } : {}),
    })),
  };
}
function short(text: string): string {
  return text.length > 400 ? `${text.slice(0, 399)}…` : text;
}
