import * as z from 'zod/mini';
import type { SessionEvent } from '../../session/events.ts';
import type { ApprovalDetail, Output, Part, QueuedPrompt, Session, Turn } from '../../session/model.ts';

// Schemas that validate a journal's records before replay. Objects are loose, to keep fields that a later build added.

const text = z.string();
const number = z.number();
const yes = z.literal(true);
const optional = z.optional;
const list = z.array;

const remedy = z.enum(['retry', 'continue', 'restart', 'showLog', 'pickAgent', 'openSettings', 'configureModel', 'signIn']);
const fault = z.looseObject({ message: text, code: optional(text), next: optional(list(remedy)) });
const notice = z.looseObject({
  level: z.enum(['info', 'warn', 'error']),
  text,
  next: optional(list(remedy)),
  turnId: optional(text),
  about: optional(z.enum(['silence', 'saving', 'approvals'])),
});
const agent = z.looseObject({ protocol: text, name: text, own: optional(text), version: optional(text) });
const offers = z.looseObject({
  tools: optional(z.looseObject({ accepted: list(text), rejected: list(z.looseObject({ name: text, reason: text })) })),
});
const content = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text, label: optional(text) }),
  z.looseObject({ type: z.literal('image'), mime: text, data: text }),
  z.looseObject({ type: z.literal('audio'), mime: text, data: text }),
  z.looseObject({ type: z.literal('file'), path: text, text: optional(text), lines: optional(z.tuple([number, number])) }),
  z.looseObject({ type: z.literal('link'), uri: text, title: optional(text) }),
  z.looseObject({ type: z.literal('raw'), label: text, value: z.unknown() }),
]);
const diff = z.looseObject({
  path: text,
  before: z.nullable(text),
  after: z.nullable(text),
  excerpt: optional(z.looseObject({ beforeLine: optional(number), afterLine: optional(number), unplaced: optional(yes) })),
  summary: optional(yes),
});
/** One entry per kind of output; a new kind does not compile without one. */
const { content: contentOutput, ...otherOutputs } = {
  content: z.looseObject({ kind: z.literal('content'), content }),
  diff: z.looseObject({ kind: z.literal('diff'), diff }),
  terminal: z.looseObject({ kind: z.literal('terminal'), terminalId: text }),
  json: z.looseObject({ kind: z.literal('json'), value: z.unknown() }),
} satisfies { readonly [Kind in Output['kind']]: z.ZodMiniType };
const output = z.discriminatedUnion('kind', [contentOutput, ...Object.values(otherOutputs)]);
const place = z.looseObject({ path: text, line: optional(number) });
const decision = z.discriminatedUnion('kind', [
  z.looseObject({
    kind: z.literal('approval'),
    by: z.enum(['user', 'rule']),
    effect: text,
    label: optional(text),
    reach: optional(text),
    feedback: optional(text),
    edited: optional(yes),
    rule: optional(z.looseObject({ kind: text, pattern: optional(text) })),
  }),
  z.looseObject({ kind: z.literal('answers'), values: list(z.looseObject({ label: text, values: list(text) })) }),
  z.looseObject({ kind: z.literal('skipped') }),
]);
const toolKind = z.enum(['read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'other']);
export const callStatus = z.enum(['pending', 'waiting', 'running', 'done', 'ended', 'failed', 'rejected', 'cancelled']);
const call = z.looseObject({
  id: text,
  name: text,
  title: text,
  kind: toolKind,
  status: callStatus,
  inputText: text,
  output: list(output),
  locations: list(place),
  error: optional(fault),
  stops: optional(z.boolean()),
  goesOn: optional(z.boolean()),
  appliedOnDisk: optional(yes),
  decision: optional(decision),
  withdrawn: optional(yes),
  startedAt: optional(number),
  endedAt: optional(number),
});
const callChange = z.looseObject({
  name: optional(text),
  title: optional(text),
  kind: optional(toolKind),
  status: optional(callStatus),
  inputText: optional(text),
  output: optional(list(output)),
  locations: optional(list(place)),
  error: optional(fault),
  stops: optional(z.boolean()),
  goesOn: optional(z.boolean()),
});
const parent = optional(text);
const part = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('text'), id: text, parent, text }),
  z.looseObject({ kind: z.literal('thought'), id: text, parent, text, startedAt: optional(number), endedAt: optional(number) }),
  z.looseObject({ kind: z.literal('content'), id: text, parent, content }),
  z.looseObject({ kind: z.literal('prompt'), id: text, parent, content: list(content), pending: optional(yes), sender: optional(text) }),
  z.looseObject({ kind: z.literal('notice'), id: text, parent, notice }),
  z.looseObject({ kind: z.literal('call'), id: text, parent, call }),
]);
/** One entry per type of detail; a new type does not compile without one. */
const { text: textDetail, ...otherDetails } = {
  command: z.looseObject({ type: z.literal('command'), command: text, cwd: optional(text), unsure: optional(yes) }),
  edit: z.looseObject({ type: z.literal('edit'), diffs: list(diff) }),
  mcp: z.looseObject({ type: z.literal('mcp'), server: text, tool: text }),
  text: z.looseObject({ type: z.literal('text'), text, unknown: optional(yes), markdown: optional(yes) }),
} satisfies { readonly [Type in ApprovalDetail['type']]: z.ZodMiniType };
const detail = z.discriminatedUnion('type', [textDetail, ...Object.values(otherDetails)]);
const option = z.looseObject({ id: text, label: text, effect: text, description: optional(text) });
const field = z.looseObject({
  id: text,
  label: text,
  choices: optional(list(z.looseObject({ label: text, description: optional(text) }))),
  initial: optional(list(text)),
});
const askBase = {
  id: text,
  turnId: optional(text),
  callId: optional(text),
  title: text,
  asker: optional(text),
  until: optional(number),
  decision: optional(decision),
};
const ask = z.discriminatedUnion('kind', [
  z.looseObject({
    kind: z.literal('approval'),
    ...askBase,
    toolKind: optional(toolKind),
    detail,
    beside: optional(list(detail)),
    paths: optional(list(text)),
    outside: optional(z.literal(true)),
    options: list(option),
    editable: optional(yes),
    revised: optional(list(diff)),
    stale: optional(list(diff)),
  }),
  z.looseObject({ kind: z.literal('question'), ...askBase, fields: list(field), refusal: optional(text) }),
]);
const waiting = {
  turnId: text,
  replaces: optional(text),
  held: optional(yes),
  again: optional(text),
  feedback: optional(yes),
  sender: optional(text),
};
const queued = z.looseObject({ ...waiting, content: list(content) });
const plan = z.looseObject({
  entries: list(
    z.looseObject({
      text,
      status: z.enum(['pending', 'in_progress', 'completed']),
      priority: optional(z.enum(['high', 'medium', 'low'])),
    }),
  ),
});
const command = z.looseObject({
  name: text,
  description: text,
  aliases: list(text),
  hint: optional(text),
  // Limits subcommands to this depth; nothing reads deeper levels.
  children: optional(list(z.looseObject({ name: text, description: text, aliases: list(text) }))),
});
const mode = z.looseObject({ current: text, all: list(z.looseObject({ id: text, name: text, description: optional(text) })) });
const sessionOption = z.discriminatedUnion('kind', [
  z.looseObject({
    id: text,
    name: text,
    kind: z.literal('choice'),
    current: text,
    choices: list(z.looseObject({ value: text, name: text })),
  }),
  z.looseObject({ id: text, name: text, kind: z.literal('switch'), on: z.boolean() }),
]);
const exit = z.looseObject({ code: z.nullable(number), signal: z.nullable(text), stopped: optional(yes) });
const terminalChange = z.looseObject({ id: text, command: optional(text), exit: optional(exit), stops: optional(z.boolean()) });
const terminal = z.looseObject({
  id: text,
  command: text,
  tail: text,
  dropped: number,
  exit: optional(exit),
  stops: optional(z.boolean()),
});
const background = z.looseObject({ id: text, text });
const usage = z.looseObject({
  used: optional(number),
  size: optional(number),
  share: optional(number),
  input: optional(number),
  output: optional(number),
  cost: optional(z.looseObject({ amount: number, currency: text })),
});

const turnFile = z.looseObject({
  path: text,
  change: z.enum(['created', 'changed', 'deleted']),
  from: optional(text),
  folder: optional(text),
  added: optional(number),
  removed: optional(number),
  whyUnkept: optional(text),
  links: optional(z.looseObject({ before: optional(text), after: optional(text) })),
  permissions: optional(z.looseObject({ before: text, after: text })),
  form: optional(z.looseObject({ before: text, after: text })),
  noLines: optional(z.enum(['binary', 'large', 'encoding'])),
  hunks: optional(z.looseObject({ kept: number, all: number })),
  review: z.enum(['open', 'kept', 'undone', 'unkept', 'reported', 'overtaken']),
  later: optional(z.enum(['deleted', 'replaced'])),
  callId: optional(text),
});
const unlisted = z.looseObject({ files: number, folders: list(text), between: optional(list(text)) });

const turnId = text;
/** One entry per type of event; a new type does not compile without one. */
const events: { readonly [Type in SessionEvent['type']]: z.ZodMiniType } = {
  'link.opening': z.looseObject({ note: optional(text), stops: optional(yes), next: optional(list(remedy)) }),
  'link.ready': z.looseObject({ agent, offers }),
  'link.closed': z.looseObject({ reason: text, detail: optional(text), next: optional(list(remedy)), restarts: optional(yes), at: number }),
  'history.started': z.looseObject({}),
  'turn.started': z.looseObject({ turnId, at: number, prompt: list(content) }),
  'turn.ended': z.looseObject({
    turnId,
    at: number,
    status: z.enum(['done', 'cancelled', 'failed']),
    unreported: optional(list(text)),
    stop: optional(text),
    error: optional(fault),
    forgotten: optional(yes),
    clears: optional(yes),
  }),
  'turns.removed': z.looseObject({ from: text }),
  'turn.sender': z.looseObject({ turnId, partId: optional(text), sender: text }),
  'turn.retries': z.looseObject({ turnId, failed: text }),
  'turn.dated': z.looseObject({
    turnId,
    startedAt: number,
    endedAt: number,
    status: z.enum(['done', 'cancelled', 'failed']),
    error: optional(fault),
  }),
  'turn.activity': z.looseObject({ turnId, text: z.nullable(text) }),
  'turn.stopping': z.looseObject({ turnId }),
  'turn.adapterState': z.looseObject({ turnId, value: z.unknown() }),
  'turn.files': z.looseObject({ turnId, files: list(turnFile), unlisted: optional(unlisted) }),
  'part.added': z.looseObject({ turnId, part, at: optional(number) }),
  'parts.removed': z.looseObject({ turnId, partIds: list(text) }),
  'text.delta': z.looseObject({ turnId, kind: z.enum(['text', 'thought']), partId: text, parent, text, at: optional(number) }),
  'text.set': z.looseObject({ turnId, partId: text, text }),
  'call.changed': z.looseObject({ turnId, callId: text, change: callChange, at: optional(number) }),
  'call.appliedOnDisk': z.looseObject({ turnId, callId: text }),
  'call.amended': z.looseObject({ turnId, callId: text, diffs: list(diff) }),
  'call.inputDelta': z.looseObject({ turnId, callId: text, text }),
  'ask.opened': z.looseObject({ ask }),
  'ask.changed': z.looseObject({ ask }),
  'ask.decided': z.looseObject({ askId: text, decision }),
  'ask.revised': z.looseObject({ askId: text, diffs: list(diff), stale: optional(list(diff)) }),
  'ask.closed': z.looseObject({ askId: text, how: z.enum(['answered', 'cancelled', 'withdrawn']) }),
  'corrections.set': z.looseObject({ texts: list(text) }),
  'queue.set': z.looseObject({ queue: list(queued) }),
  'plan.set': z.looseObject({ plan: z.nullable(plan) }),
  'commands.set': z.looseObject({ commands: list(command) }),
  'mode.set': z.looseObject({ mode: z.nullable(mode) }),
  'options.set': z.looseObject({ options: list(sessionOption) }),
  'terminal.changed': z.looseObject({ terminal: terminalChange, delta: optional(text), reset: optional(yes) }),
  'background.set': z.looseObject({ tasks: list(background) }),
  'usage.set': z.looseObject({ usage }),
  'title.set': z.looseObject({ title: text, copyOf: optional(text), chosen: optional(yes) }),
  'resume.set': z.looseObject({ key: text }),
  notice: z.looseObject({ notice }),
  'notices.removed': z.looseObject({}),
};
const typed = z.looseObject({ type: text });

/** Returns the value as an event, or undefined. Returns the value itself, to keep unknown fields. */
export function eventOf(value: unknown): SessionEvent | undefined {
  const found = typed.safeParse(value);
  if (!found.success) return undefined;
  const { type } = found.data;
  if (!Object.hasOwn(events, type)) return undefined;
  return events[type as SessionEvent['type']].safeParse(value).success ? (value as SessionEvent) : undefined;
}

const head = z.looseObject({
  type: z.literal('journal.head'),
  version: number,
  id: text,
  profile: text,
  agent,
  cwd: text,
  at: number,
  title: optional(text),
  resumeKey: optional(text),
  turns: number,
  files: optional(number),
  failed: optional(yes),
  runs: optional(yes),
  used: optional(number),
  snapshotBytes: optional(number),
});
const state = z.looseObject({
  type: z.literal('journal.state'),
  session: z.looseObject({
    id: text,
    title: text,
    titleChosen: optional(yes),
    agent,
    cwd: text,
    link: z.discriminatedUnion('state', [
      z.looseObject({ state: z.literal('opening') }),
      z.looseObject({ state: z.literal('ready'), offers }),
      z.looseObject({ state: z.literal('closed'), reason: text }),
      z.looseObject({ state: z.literal('recorded') }),
    ]),
    asks: list(ask),
    queue: list(queued),
    corrections: optional(list(text)),
    plan: optional(plan),
    commands: list(command),
    mode: optional(mode),
    options: optional(list(sessionOption)),
    terminals: list(terminal),
    background: optional(list(background)),
    usage: optional(usage),
    notices: list(notice),
    resumeKey: optional(text),
    partial: optional(yes),
  }),
});
const turn = z.looseObject({
  type: z.literal('journal.turn'),
  turn: z.looseObject({
    id: text,
    startedAt: number,
    endedAt: optional(number),
    prompt: list(content),
    sender: optional(text),
    retries: optional(text),
    corrections: optional(text),
    plan: optional(plan),
    status: z.enum(['running', 'done', 'cancelled', 'failed']),
    error: optional(fault),
    files: optional(list(turnFile)),
    unlisted: optional(unlisted),
  }),
});
const parts = z.looseObject({ type: z.literal('journal.parts'), turnId, parts: list(part) });
const queue = z.looseObject({
  type: z.literal('journal.queue'),
  queue: list(z.looseObject({ ...waiting, content: optional(list(content)) })),
});

/** Identifies a file's conversation. Written at the beginning and again with every turn, to survive damage anywhere in the file. */
export interface HeadRecord {
  readonly type: 'journal.head';
  readonly version: number;
  readonly id: string;
  readonly profile: string;
  readonly agent: Session['agent'];
  readonly cwd: string;
  /** When the conversation began, milliseconds since the epoch. */
  readonly at: number;
  readonly title?: string;
  readonly resumeKey?: string;
  readonly turns: number;
  /** Number of files its turns have changed. */
  readonly files?: number;
  /** True when the last turn failed. */
  readonly failed?: true;
  /** True when the last turn has not ended. */
  readonly runs?: true;
  /** When it was last used, milliseconds since the epoch: files are also written when windows close and hosts end. */
  readonly used?: number;
  /** Bytes of the file after the last compaction. */
  readonly snapshotBytes?: number;
}
/** A snapshot: the state without turns, each turn without parts, the parts in pieces, and its end. */
export type SnapshotRecord =
  | { readonly type: 'journal.state'; readonly session: Omit<Session, 'turns'> }
  | { readonly type: 'journal.turn'; readonly turn: Omit<Turn, 'parts'> }
  | { readonly type: 'journal.parts'; readonly turnId: string; readonly parts: readonly Part[] }
  | { readonly type: 'journal.complete' };
/** `queue.set` where prompts waited before: their contents, which may be large, are those of the queue before, and are left out. */
export interface QueueRecord {
  readonly type: 'journal.queue';
  readonly queue: readonly (Omit<QueuedPrompt, 'content'> & Partial<Pick<QueuedPrompt, 'content'>>)[];
}
export type KnownRecord = HeadRecord | SnapshotRecord | QueueRecord | SessionEvent;

const own: Readonly<Record<string, z.ZodMiniType>> = {
  'journal.head': head,
  'journal.state': state,
  'journal.turn': turn,
  'journal.parts': parts,
  'journal.queue': queue,
  'journal.complete': typed,
};

/** Returns the value as a record, or undefined. */
export function recordOf(value: unknown): KnownRecord | undefined {
  const found = typed.safeParse(value);
  if (!found.success) return undefined;
  const { type } = found.data;
  if (!Object.hasOwn(own, type)) return eventOf(value);
  return own[type]?.safeParse(value).success ? (value as HeadRecord | SnapshotRecord | QueueRecord) : undefined;
}
