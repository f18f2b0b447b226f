import { ResponseError } from 'vscode-jsonrpc/node';
import { parseJson } from '../../base/json.ts';
import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import type { Fault } from '../../session/model.ts';

/** Errors both ways (acp.md §2). */
export const AUTH_REQUIRED = -32000;
export const NOT_FOUND = -32002;
export const UNSUPPORTED_VERSION = -32022;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL = -32603;
export const CANCELLED = -32800;

export function codeOf(error: unknown): number | undefined {
  return error instanceof ResponseError ? error.code : undefined;
}

/** An agent's error as a sentence for a user. Details sit in several places, and one agent puts JSON into the message. */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof ResponseError)) return { message: messageOf(error) };
  const data: unknown = error.data;
  const details = ['details', 'message'].map((key) => stringAt(data, key)).find(Boolean);
  const message = innerMessage(error.message) || t('The agent reports an error.');
  const text = details && !message.includes(details) ? `${message}: ${details}` : message;
  return {
    message: text.slice(0, 4000),
    code: String(error.code),
    ...(error.code === AUTH_REQUIRED || error.code === 401
      ? { next: ['signIn', 'showLog'] as const }
      : { next: ['retry', 'showLog'] as const }),
  };
}

function innerMessage(message: string): string {
  if (!message.trimStart().startsWith('{') && !message.trimStart().startsWith('[')) return message;
  try {
    const value: unknown = parseJson(message);
    const first: unknown = Array.isArray(value) ? value[0] : value;
    const inner = stringAt((first as { readonly error?: unknown } | undefined)?.error, 'message') ?? stringAt(first, 'message');
    return inner ?? message;
  } catch {
    return message;
  }
}

function stringAt(value: unknown, key: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const found = (value as Readonly<Record<string, unknown>>)[key];
  return typeof found === 'string' && found ? found : undefined;
}

/** What we refuse a request of the agent with. */
export function refusal(code: number, message: string, data?: unknown): ResponseError<unknown> {
  return new ResponseError(code, message, data);
}

/** An answer is not as the protocol has it: says which, and where the first thing wrong with it stands. */
export function unreadable(method: string, error: { readonly issues: readonly { readonly path: readonly PropertyKey[] }[] }): Error {
  const where = error.issues[0]?.path.map(String).join('.');
  return new Error(
    where
      ? t('The agent answered "{0}" with something the protocol does not have there, at "{1}".', method, where)
      : t('The agent answered "{0}" with something the protocol does not have there.', method),
  );
}
