import { isSecretName } from '../base/secretNames.ts';
import type { SessionEvent } from '../session/events.ts';

const OUT = '[left out]';
/** Members that hold many secrets: left out whole. */
const SECRET_GROUP = /^(?:headers?|env|environment|environment[-_]?variables|variables|cookies|credentials|secrets|auth|authorization)$/i;
/**
 * Secrets in running text, by the marks their issuers give them, by the word in front of them, or by their place in an address. Every repetition is
 * bounded or is of one kind of character, so that a text of any kind is read in linear time.
 */
const SECRET_TEXT: readonly RegExp[] = [
  // Keys with a mark: OpenAI, Anthropic, GitHub, GitLab, Slack, AWS, Google, npm, PyPI, Hugging Face, Stripe, SendGrid, DigitalOcean, Shopify, Groq, xAI …
  /\b(?:sk|pk|rk|gsk|xai|pplx|r8|tvly|hf|ghp|gho|ghu|ghs|ghr|glpat|npm|pypi|shpat|shpss|dop_v1|doo_v1|whsec|xox[abeoprs]|xapp|dckr_pat|lin_api|nvapi|key|fw|csk|sntrys|figd|atlasv1|ATATT|EAAC|phc|phx|dp\.pt|pat|secret)[-_](?=[\w-]{0,200}\d|[\w-]{16})[\w-]{8,400}/g,
  /\bgithub_pat_\w{20,200}/g,
  /\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[0-9A-Z]{12,20}\b/g,
  /\bAIza[\w-]{30,40}/g,
  /\bya29\.[\w-]{10,2000}/g,
  /\bSG\.[\w-]{10,100}\.[\w-]{10,100}/g,
  /\b\d{8,10}:AA[\w-]{30,40}/g,
  /\beyJ[\w-]{4,4000}\.[\w-]{4,8000}(?:\.[\w-]{0,4000})?/g,
  /\bAGE-SECRET-KEY-1\w{20,100}/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\w\s+/=\\-]{0,10000}?(?:-----END|$)/g,
  /hooks\.slack\.com\/(?:services|workflows)\/[\w/]{8,200}/g,
  /discord(?:app)?\.com\/api\/webhooks\/[\w/-]{8,200}/g,
];
/** Patterns that keep the word in front of the secret. */
const AFTER_WORD: readonly RegExp[] = [
  /\b(Bearer)(\s{1,9}|%20)[\w.~+/=:-]{8,8000}/gi,
  /\b(Basic|Digest|Token|ApiKey)(\s{1,9}|%20)(?=[\w.~+/:-]{0,200}[\d=])[\w.~+/=:-]{8,8000}/gi,
  // NAME=value, "name": "value", also within JSON that is itself a text.
  /((?:api[-_]?key|access[-_]?key|account[-_]?key|private[-_]?key|token|secret|passw(?:or)?d|passphrase|pwd|credential|cookie|authorization|signature)[\w-]{0,30})(\\{0,4}["']?\s{0,9}(?:[=:]|%3D)\s{0,9}\\{0,4}["']?)(?![\s"'\\[{,]|\d{1,12}\b)[^\s"'\\&;,]{3,8000}/gi,
  // --name value
  /(--?[\w-]{0,30}(?:key|token|secret|passw(?:or)?d|pass|pwd|credential|cookie)s?)(\s{1,9}\\{0,4}["']?)(?!-)[^\s"'\\]{3,8000}/gi,
  /([?&;#](?:code|key|sig|sas|auth|access_token|state|session|pass|pwd|X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token))(=|%3D)[^\s"'\\&#]{3,8000}/gi,
];
/** The user's name and password in an address. */
const IN_ADDRESS = /(\b[a-z][a-z0-9+.-]{1,30}:\/\/)[^\s/@"'\\]{1,400}@/gi;

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
  const plain = redacted(searched);
  return text.length > LONGEST ? `${plain.slice(0, LONGEST)}… (${text.length} characters)` : plain;
}

/** One message as JSON without secrets, cut as in the log, and how many characters it had. */
export function redactedJson(message: unknown): { readonly json: string; readonly size: number } {
  const text = JSON.stringify(message, replaced) ?? String(message);
  const plain = redacted(text.slice(0, SEARCHED));
  return { json: text.length > LONGEST ? `${plain.slice(0, LONGEST)}…` : plain, size: text.length };
}

/** One event of a recording as JSON without secrets, whole, so that it can be replayed. */
export function redactedEvent(event: SessionEvent): string {
  return JSON.stringify(event, (name, value: unknown) => {
    const kept = replaced(name, value);
    return typeof kept === 'string' ? redacted(kept) : kept;
  });
}

/** A text without the parts that look like a secret. */
export function redacted(text: string): string {
  let plain = text.replace(IN_ADDRESS, `$1${OUT}@`);
  for (const pattern of SECRET_TEXT) plain = plain.replace(pattern, OUT);
  for (const pattern of AFTER_WORD) plain = plain.replace(pattern, `$1$2${OUT}`);
  return plain;
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
