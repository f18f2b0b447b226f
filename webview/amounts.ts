/** A price in the words of the view's language. */
export function money({ amount, currency }: { readonly amount: number; readonly currency: string }): string {
  try {
    return new Intl.NumberFormat(document.documentElement.lang || 'en', { style: 'currency', currency }).format(amount);
  } catch {
    return `${amount} ${currency}`;
  }
}

/** A number of tokens, short. */
export function count(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(tokens < 10_000 ? 1 : 0)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}
