const SECRET_NAME = /(api[-_]?key|token|secret|password|passwd|authorization|cookie|credential)/i;
const SECRET_TEXT = /\b(Bearer\s+)[\w.~+/=-]{8,}|\b(sk|ghp|gho|xox[abp])[-_][\w-]{8,}/g;
const LONGEST = 16 * 1024;

/** One message as one line of JSON for the protocol log: values under secret names, headers and environments are left out, and so are keys in text. */
export function traceLine(message: unknown): string {
  const text =
    JSON.stringify(message, (name, value: unknown) => {
      if (/^(headers|env)$/i.test(name) && typeof value === 'object' && value !== null) return '[left out]';
      if (SECRET_NAME.test(name) && typeof value === 'string') return '[left out]';
      return value;
    }) ?? String(message);
  const plain = text.replace(SECRET_TEXT, (_, bearer: string | undefined) => `${bearer ?? ''}[left out]`);
  return plain.length > LONGEST ? `${plain.slice(0, LONGEST)}… (${plain.length} characters)` : plain;
}
