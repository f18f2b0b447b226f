import { isSecretName } from '../base/secretNames.ts';
import type { SessionEvent } from '../session/events.ts';
import { withoutSecrets } from './secretText.ts';

const OUT = '[left out]';
/** Members that hold many secrets: left out whole. */
const SECRET_GROUP = /^(?:headers?|env|environment|environment[-_]?variables|variables|cookies|credentials|secrets|auth|authorization)$/i;
const LONGEST = 16 * 1024;
/** UTF-16 units searched for secrets, so that one that begins before the cut is found whole. */
const SEARCHED = LONGEST + 8 * 1024;

/**
 * One message as one line of JSON for the protocol log, without values under secret names, headers, environments and texts that look like a secret.
 * SECURITY.md states the promise: it is a net, not a proof.
 */
export function traceLine(message: unknown): string {
  const text = JSON.stringify(message, replaced) ?? String(message);
  const searched = text.slice(0, SEARCHED);
  const plain = withoutSecrets(searched);
  return text.length > LONGEST ? `${plain.slice(0, LONGEST)}… (${text.length} characters)` : plain;
}

/** One message as JSON without secrets, cut as in the log, and how many characters it had. */
export function redactedJson(message: unknown): { readonly json: string; readonly size: number } {
  const text = JSON.stringify(message, replaced) ?? String(message);
  const plain = withoutSecrets(text.slice(0, SEARCHED));
  return { json: text.length > LONGEST ? `${plain.slice(0, LONGEST)}…` : plain, size: text.length };
}

/** One event of a recording as JSON without secrets, whole, so that it can be replayed. */
export function redactedEvent(event: SessionEvent): string {
  return JSON.stringify(event, (name, value: unknown) => {
    const kept = replaced(name, value);
    return typeof kept === 'string' ? withoutSecrets(kept) : kept;
  });
}

function replaced(name: string, value: unknown): unknown {
  if (SECRET_GROUP.test(name) && typeof value === 'object' && value !== null) return OUT;
  if (!isSecretName(name)) return value;
  // Codes of errors are short, those of sign-ins long.
  if (typeof value === 'string') return value === '' || (/^code$/i.test(name) && value.length < 16) ? value : OUT;
  // A list of secrets, or an object about one. Numbers are counts of tokens.
  const counts = /tokens$/i.test(name) && !Array.isArray(value);
  return typeof value === 'object' && value !== null && !counts ? OUT : value;
}
