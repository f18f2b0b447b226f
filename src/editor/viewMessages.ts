import * as z from 'zod/mini';
import { CONTEXT_KINDS, type FromView, MOST_CONTENTS } from '../bridge/contract.ts';

/** The messages that the webview may send. It is not trusted: everything is checked and bounded before any other code reads it. */

const LONGEST_TEXT = 2 * 1024 * 1024;
const LONGEST_CODE = 100_000;
const LARGEST_IMAGE = 16 * 1024 * 1024;
/** No question has more fields. A schema names every member that it does not know, in each of its alternatives: that takes long. */
const MOST_MEMBERS = 1000;
/** Members of all objects and lists of a message, and characters of all its texts and pictures: what each of them may hold would add up to gigabytes. */
const MOST_IN_ALL = 10_000;
const MOST_CHARACTERS = 64 * 1024 * 1024;
/** Levels of objects and lists in a message. */
const DEEPEST = 8;

const id = z.string().check(z.minLength(1), z.maxLength(512));
const text = z.string().check(z.maxLength(LONGEST_TEXT));
const short = z.string().check(z.maxLength(4096));
const whole = z.number().check(z.int(), z.gte(1));
const pixels = z.number().check(z.int(), z.gte(1), z.lte(100_000));
const nothing = z.strictObject({});

const content = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text, label: z.exactOptional(short) }),
  z.strictObject({ type: z.literal('image'), mime: short, data: z.string().check(z.maxLength(LARGEST_IMAGE)) }),
  z.strictObject({ type: z.literal('audio'), mime: short, data: z.string().check(z.maxLength(LARGEST_IMAGE)) }),
  z.strictObject({
    type: z.literal('file'),
    path: short,
    text: z.optional(text),
    lines: z.optional(z.tuple([whole, whole])),
  }),
  z.strictObject({ type: z.literal('link'), uri: short, title: z.optional(short) }),
]);
const contents = z.array(content).check(z.maxLength(MOST_CONTENTS));

const answer = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('option'), optionId: id, edited: z.optional(text), feedback: z.optional(text) }),
  z.strictObject({ kind: z.literal('fields'), values: z.record(id, z.array(text).check(z.maxLength(200))) }),
  z.strictObject({ kind: z.literal('cancelled') }),
]);
const intent = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('prompt'), turnId: id, content: contents, replaces: z.optional(id) }),
  z.strictObject({ type: z.literal('command'), turnId: id, path: z.array(id).check(z.minLength(1), z.maxLength(8)), args: text }),
  z.strictObject({ type: z.literal('steer'), turnId: id, content: contents }),
  z.strictObject({ type: z.literal('unqueue'), turnId: id }),
  z.strictObject({ type: z.literal('cancel') }),
  z.strictObject({ type: z.literal('stopCall'), callId: id }),
  z.strictObject({ type: z.literal('stopTerminal'), terminalId: id }),
  z.strictObject({ type: z.literal('answer'), askId: id, answer }),
  z.strictObject({ type: z.literal('setMode'), modeId: id }),
  z.strictObject({ type: z.literal('setOption'), optionId: id, value: z.union([z.boolean(), short]) }),
]);

const remedy = z.enum(['retry', 'continue', 'restart', 'showLog', 'pickAgent', 'openSettings', 'configureModel', 'signIn']);
const call = <M extends string, P extends z.core.$ZodType>(method: M, params: P) =>
  z.strictObject({ type: z.literal('call'), id: z.number(), method: z.literal(method), params });
const calls = z.discriminatedUnion('method', [
  call('findMentions', z.strictObject({ query: short })),
  call('findSymbols', z.strictObject({ query: short })),
  call('attach', z.strictObject({ kind: z.enum(CONTEXT_KINDS) })),
  call('addTerminal', nothing),
  call('models', nothing),
  call('lookAround', nothing),
  call('findSetups', nothing),
  call('useSetup', z.strictObject({ kind: z.enum(['agent', 'endpoint']), id })),
  call('useModel', z.strictObject({ name: z.string().check(z.minLength(1), z.maxLength(512)) })),
  call('hints', z.strictObject({ sessionId: id, text, cursor: z.number().check(z.int(), z.gte(0)) })),
  call('open', z.strictObject({ path: short, line: z.optional(whole), column: z.optional(whole) })),
  call('openLink', z.strictObject({ uri: short })),
  call('review', z.strictObject({ sessionId: id, path: z.optional(short), askId: z.optional(id), turnId: z.optional(id) })),
  call('settleFile', z.strictObject({ sessionId: id, turnId: id, path: z.optional(short), how: z.enum(['keep', 'undo']) })),
  call('restoreFiles', z.strictObject({ sessionId: id, turnId: id })),
  call('copySession', z.strictObject({ sessionId: id, turnId: z.exactOptional(id) })),
  call('colourCode', z.strictObject({ text: z.string().check(z.maxLength(LONGEST_CODE)), language: short, theme: short })),
  call('existing', z.strictObject({ paths: z.array(short).check(z.maxLength(100)) })),
  call('folders', z.strictObject({ paths: z.array(short).check(z.maxLength(100)) })),
  call('insertAtCursor', z.strictObject({ text })),
  call('openTerminal', z.strictObject({ sessionId: id, terminalId: id })),
  call('allowMore', z.strictObject({ sessionId: id, askId: id, how: z.enum(['session', 'always']) })),
  call('showAsk', z.strictObject({ sessionId: id, askId: id })),
  call('newSession', z.strictObject({ profile: z.optional(id), pick: z.optional(z.literal(true)), ifNone: z.optional(z.literal(true)) })),
  call('switchSession', z.strictObject({ sessionId: id })),
  call('findSessions', z.strictObject({ query: short })),
  call('renameSession', z.strictObject({ sessionId: id, title: z.string().check(z.minLength(1), z.maxLength(512)) })),
  call('pinSession', z.strictObject({ sessionId: id, on: z.boolean() })),
  call('deleteSession', z.strictObject({ sessionId: id })),
  call('exportSession', z.strictObject({ sessionId: id })),
  call('openInEditor', z.strictObject({ sessionId: id })),
  call('remedy', z.strictObject({ sessionId: id, remedy })),
  call('trustWorkspace', nothing),
]);
const message = z.union([
  z.strictObject({ type: z.literal('ready') }),
  z.strictObject({ type: z.literal('typing') }),
  z.strictObject({ type: z.literal('focused'), on: z.boolean() }),
  z.strictObject({ type: z.literal('unfocused') }),
  z.strictObject({ type: z.literal('window'), width: pixels, height: pixels }),
  z.strictObject({ type: z.literal('resync'), sessionId: id }),
  z.strictObject({ type: z.literal('intent'), sessionId: id, intent }),
  calls,
]);

export type ReadMessage = { readonly message: FromView } | { readonly problem: string; readonly callId?: number };

/** Validates a message. A malformed call returns its number, so that the view can be told. */
export function readFromView(value: unknown): ReadMessage {
  if (isTooLarge(value, DEEPEST, { members: MOST_IN_ALL, characters: MOST_CHARACTERS })) return refused(value);
  const parsed = message.safeParse(value);
  // zod types an absent field as `| undefined`; a strict object that came as JSON has no such field.
  if (parsed.success) return { message: parsed.data as FromView };
  return refused(value);
}

function refused(value: unknown): ReadMessage {
  const callId = callIdOf(value);
  const problem = 'a message that this build does not understand';
  return callId === undefined ? { problem } : { problem, callId };
}

/**
 * True when a list or an object in it has more members than those of any message, or lies deeper, or when it holds more in all than is left. Ends at the
 * first.
 */
function isTooLarge(value: unknown, levels: number, left: { members: number; characters: number }): boolean {
  if (typeof value === 'string') {
    left.characters -= value.length;
    return left.characters < 0;
  }
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  const members = Array.isArray(value) ? value.length : Object.keys(value).length;
  left.members -= members;
  if (members > MOST_MEMBERS || left.members < 0) return true;
  return Object.values(value).some((inner) => isTooLarge(inner, levels - 1, left));
}

function callIdOf(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('id' in value)) return undefined;
  return typeof value.id === 'number' ? value.id : undefined;
}
