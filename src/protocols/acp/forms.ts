import * as z from 'zod/mini';
import { t } from '../../base/l10n.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, Field, Question } from '../../session/model.ts';
import { badParams } from './codec.ts';
import { elicitationRequest, soft, softText, text } from './schema.ts';

/* Makes an ask of an `elicitation/create`, and its reply of the user's answer (docs/protocols/acp.md, "Forms and links"). */

const named = z.object({ const: z.string(), title: z.nullish(z.string()), description: z.nullish(z.string()) });
/** A longer list of choices is unreadable and counts as absent, so the field takes any text. */
const MOST_CHOICES = 5000;
const few = <T extends z.ZodMiniType>(member: T) =>
  soft(
    z.pipe(
      z.custom<unknown>((given) => !Array.isArray(given) || given.length <= MOST_CHOICES),
      z.array(member),
    ),
  );
const property = z.looseObject({
  type: softText,
  title: softText,
  description: softText,
  format: softText,
  pattern: softText,
  minLength: soft(z.number()),
  maxLength: soft(z.number()),
  minimum: soft(z.number()),
  maximum: soft(z.number()),
  minItems: soft(z.number()),
  maxItems: soft(z.number()),
  default: z.optional(z.unknown()),
  enum: few(text),
  enumNames: few(text),
  oneOf: few(named),
  items: soft(z.object({ enum: few(text), enumNames: few(text), anyOf: few(named), oneOf: few(named) })),
});
type Property = z.output<typeof property>;
/** A user does not fill in a form of more fields, and reading them takes long. */
const MOST_FIELDS = 1000;
const fewFields = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && Object.keys(value).length <= MOST_FIELDS,
);

export const formRequest = z.object({
  mode: z.literal('form'),
  message: z.string(),
  sessionId: z.nullish(z.string()),
  toolCallId: z.nullish(z.string()),
  requestedSchema: z.object({
    title: softText,
    properties: z._default(z.pipe(fewFields, z.record(z.string(), property)), {}),
    required: few(text),
  }),
});
export const linkRequest = z.object({
  mode: z.literal('url'),
  message: z.string(),
  sessionId: z.nullish(z.string()),
  toolCallId: z.nullish(z.string()),
  url: z.string().check(z.maxLength(8192)),
  elicitationId: z.nullish(z.string()),
});
export type FormRequest = z.output<typeof formRequest>;
export type LinkRequest = z.output<typeof linkRequest>;

type Elicitation =
  | { readonly form: FormRequest; readonly link?: never; readonly fault?: never }
  | { readonly link: LinkRequest; readonly form?: never; readonly fault?: never }
  | { readonly fault: string; readonly form?: never; readonly link?: never };
/** The form or link that is asked for, or the `fault` to refuse it with. `opensLinks`: links may be opened. */
export function readElicitation(params: unknown, opensLinks: boolean): Elicitation {
  const head = elicitationRequest.safeParse(params);
  if (!head.success) return { fault: badParams('elicitation/create', head.error) };
  const form = formRequest.safeParse(params);
  if (form.success) return { form: form.data };
  const link = linkRequest.safeParse(params);
  if (link.success && opensLinks) return { link: link.data };
  return { fault: `A request of the mode "${head.data.mode}" cannot be shown.` };
}

export interface FormReply {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}
export const FORM_CANCELLED: FormReply = { action: 'cancel' };
export const FORM_DECLINED: FormReply = { action: 'decline' };
export const LINK_OPENED: FormReply = { action: 'accept' };

/** A form as a question; a text property that only takes "something else" for a choice is joined with that choice. */
export function formAsk(id: string, request: FormRequest, turnId: string | undefined): Question {
  const { properties, required } = request.requestedSchema;
  const otherFields = otherFieldsOf(properties);
  const joined = new Set(otherFields.values());
  return {
    kind: 'question',
    id,
    ...(turnId === undefined ? {} : { turnId }),
    ...(request.toolCallId == null ? {} : { callId: request.toolCallId }),
    title: request.message || request.requestedSchema.title || '',
    refusal: 'decline',
    fields: Object.entries(properties)
      .filter(([name]) => !joined.has(name))
      .map(([name, one]) => toField(name, one, required?.includes(name) ?? false, otherFields.has(name))),
  };
}

/** The reply to the agent; undefined when a value does not fit its property. `steps`: how many steps each pattern may take. */
export function formReply(request: FormRequest, answer: Answer, steps = stepsEach(request)): FormReply | undefined {
  if (answer.kind === 'option') return { action: 'decline' };
  if (answer.kind !== 'fields') return FORM_CANCELLED;
  const { properties, required } = request.requestedSchema;
  const otherFields = otherFieldsOf(properties);
  const joined = new Set(otherFields.values());
  const content: Record<string, string | number | boolean | readonly string[]> = {};
  for (const [name, one] of Object.entries(properties)) {
    const given = valuesOf(answer, name).filter((value) => value !== '');
    if (given.length === 0) {
      if (required?.includes(name) && !joined.has(name)) return undefined;
      continue;
    }
    const choices = choicesOf(one);
    const free = choices ? given.filter((value) => !choices.some((choice) => choice.label === value)) : [];
    const other = otherFields.get(name);
    if (other !== undefined && free[0] !== undefined) content[other] = free[0];
    const kept = choices ? given.flatMap((value) => choices.find((choice) => choice.label === value)?.value ?? []) : given;
    if (choices && other === undefined && free.length > 0) return undefined;
    if (kept.length === 0) continue;
    const value = typedValue(one, kept, steps);
    if (value === undefined) return undefined;
    content[name] = value;
  }
  return { action: 'accept', content };
}

/** A sentence about the first value that does not fit its property; undefined when all of them fit. */
export function formMisfit(request: FormRequest, answer: Answer): string | undefined {
  const { properties, required } = request.requestedSchema;
  const otherFields = otherFieldsOf(properties);
  const joined = new Set(otherFields.values());
  const steps = stepsEach(request);
  for (const [name, one] of Object.entries(properties)) {
    if (joined.has(name)) continue;
    const other = otherFields.get(name);
    const alone = Object.fromEntries(
      [name, ...(other === undefined ? [] : [other])].flatMap((key) => (properties[key] ? [[key, properties[key]]] : [])),
    );
    const part = {
      ...request,
      requestedSchema: { ...request.requestedSchema, properties: alone, required: required?.includes(name) ? [name] : [] },
    };
    if (formReply(part, answer, steps) !== undefined) continue;
    const label = one.title || one.description || name;
    const given = answer.kind === 'fields' ? (valuesOf(answer, name)[0] ?? '') : '';
    const text = t('The answer to “{0}” does not fit what was asked.', label);
    return one.pattern != null && !matches(given, one.pattern, steps) ? `${text} (${one.pattern})` : text;
  }
  return undefined;
}

/** A link, read by the rules for web addresses. */
export interface LinkFacts {
  readonly host: string;
  readonly isEncrypted: boolean;
  /** It has a user name or password before the host. */
  readonly hasUser: boolean;
  /** The host name holds characters from outside ASCII. */
  readonly isPunycode: boolean;
}
/** A link as an approval: the whole address and its host are shown before anything is opened. */
export function linkAsk(id: string, request: LinkRequest, facts: LinkFacts, turnId: string | undefined): Approval {
  const warnings = [
    ...(facts.hasUser || facts.isPunycode ? [t('This address is misleading: check its host.')] : []),
    ...(facts.isEncrypted
      ? []
      : [t('The connection to {0} is not encrypted: messages, keys and what tools find can be read on the way.', facts.host)]),
  ];
  return {
    kind: 'approval',
    id,
    ...(turnId === undefined ? {} : { turnId }),
    title: request.message,
    detail: { type: 'text', text: [t('Host: {0}', facts.host), ...warnings, request.url].join('\n') },
    options: [
      { id: 'open', label: t('Open'), effect: 'allow_once' },
      { id: 'decline', label: t('Reject'), effect: 'reject_once' },
    ],
  };
}

function toField(name: string, one: Property, required: boolean, free: boolean): Field {
  const choices = choicesOf(one);
  const many = one.type === 'array';
  const [min, max] = boundsOf(one);
  const initial = initialOf(one, choices);
  return {
    id: name,
    label: one.title || one.description || name,
    ...(one.title && one.description ? { body: one.description } : {}),
    ...(choices ? { choices: choices.map(({ label, description }) => ({ label, ...(description ? { description } : {}) })) } : {}),
    ...(many ? { many: true as const } : {}),
    ...(free || (!choices && one.type !== 'boolean') ? { free: true as const } : {}),
    kind: choices ? 'text' : kindOf(one),
    ...(required ? { required: true as const } : {}),
    ...(initial.length > 0 ? { initial } : {}),
    ...(min == null ? {} : { min }),
    ...(max == null ? {} : { max }),
  };
}

/** The bounds that bind its type: of how many, of the number, or of the length. */
function boundsOf(one: Property): readonly (number | null | undefined)[] {
  if (one.type === 'array') return [one.minItems, one.maxItems];
  if (one.type === 'number' || one.type === 'integer') return [one.minimum, one.maximum];
  return [one.minLength, one.maxLength];
}

function kindOf(one: Property): NonNullable<Field['kind']> {
  if (one.type === 'number' || one.type === 'integer' || one.type === 'boolean') return one.type;
  const { format } = one;
  return format === 'email' || format === 'uri' || format === 'date' || format === 'date-time' ? format : 'text';
}

interface Choice {
  readonly value: string;
  readonly label: string;
  readonly description?: string | null | undefined;
}

/** The choices of a property; undefined when it has none. Labels are unique, because the answer holds labels. */
function choicesOf(one: Property): readonly Choice[] | undefined {
  const titled = one.oneOf ?? one.items?.anyOf ?? one.items?.oneOf ?? withNames(one) ?? withNames(one.items);
  if (titled) {
    const titles = titled.map((choice) => choice.title || choice.const);
    return titled.map((choice, at) => {
      const title = titles[at] ?? choice.const;
      const twice = titles.indexOf(title) !== titles.lastIndexOf(title);
      return { value: choice.const, label: twice ? `${title} (${choice.const})` : title, description: choice.description };
    });
  }
  return (one.enum ?? one.items?.enum)?.map((value) => ({ value, label: value }));
}

/** Choices whose titles stand in a list beside them, as older servers send them. */
function withNames(one: Pick<Property, 'enum' | 'enumNames'> | null | undefined): readonly z.output<typeof named>[] | undefined {
  if (!one?.enum || one.enum.length !== one.enumNames?.length) return undefined;
  return one.enum.map((value, at) => ({ const: value, title: one.enumNames?.[at] }));
}

function initialOf(one: Property, choices: readonly Choice[] | undefined): readonly string[] {
  const given = [one.default].flat().filter((value) => value !== undefined && value !== null);
  const texts = given.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return choices ? texts.flatMap((text) => choices.find((choice) => choice.value === text)?.label ?? []) : texts;
}

/** The value for the reply, in the property's type; undefined when it does not fit. */
function typedValue(one: Property, given: readonly string[], steps: number): string | number | boolean | readonly string[] | undefined {
  const [first = ''] = given;
  switch (one.type) {
    case 'array':
      return within(given.length, one.minItems, one.maxItems) ? given : undefined;
    case 'boolean':
      return first === 'true' ? true : first === 'false' ? false : undefined;
    case 'number':
    case 'integer': {
      const number = Number(first);
      if (!Number.isFinite(number) || (one.type === 'integer' && !Number.isInteger(number))) return undefined;
      return within(number, one.minimum, one.maximum) ? number : undefined;
    }
    default:
      return within([...first].length, one.minLength, one.maxLength) && matches(first, one.pattern, steps) ? first : undefined;
  }
}

/** The values given for a property. Its name is the agent's, and may be that of a member every object has. */
function valuesOf({ values }: Extract<Answer, { kind: 'fields' }>, name: string): readonly string[] {
  return Object.hasOwn(values, name) ? (values[name] ?? []) : [];
}

function within(value: number, min: number | null | undefined, max: number | null | undefined): boolean {
  return (min == null || value >= min) && (max == null || value <= max);
}

/** Ignores a pattern of the agent that is invalid or could take too long; the agent checks the value itself. */
function matches(text: string, pattern: string | null | undefined, steps: number): boolean {
  // So few steps are less than looking at the pattern takes.
  if (pattern == null || steps < LEAST_STEPS || text.length > longestFor(pattern, steps)) return true;
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true;
  }
}
/** Steps that the patterns of one form may take together, about 10 ms. */
const MOST_STEPS = 2_000_000;
const LEAST_STEPS = MOST_STEPS / 500;

function stepsEach({ requestedSchema: { properties } }: FormRequest): number {
  return MOST_STEPS / Math.max(1, Object.values(properties).filter(({ pattern }) => pattern != null).length);
}

/**
 * The longest text that a pattern reads within its steps: it is tried from each character, each repetition tries each length, and each choice doubles
 * the ways.
 */
function longestFor(pattern: string, steps: number): number {
  // Repeated groups and back references cost more than that.
  if (pattern.length > 1000 || /\)(?:[*+?]|\{)|\\[1-9k]/.test(pattern)) return -1;
  const plain = pattern.replace(/\\./g, '');
  const repeats = plain.match(/[*+]|\{\d+,\d*\}/g)?.length ?? 0;
  const choices = plain.match(/[?|]/g)?.length ?? 0;
  return Math.floor((steps / 2 ** choices) ** (1 / (repeats + 1)));
}

/** The text property that is the "Other…" of a choice, by the name of the choice: Claude names them question_0 and question_0_custom. */
function otherFieldsOf(properties: Readonly<Record<string, Property>>): ReadonlyMap<string, string> {
  const otherFields = new Map<string, string>();
  for (const [name, one] of Object.entries(properties)) {
    const other = `${name}_custom`;
    if (choicesOf(one) && properties[other] && !choicesOf(properties[other])) otherFields.set(name, other);
  }
  return otherFields;
}
