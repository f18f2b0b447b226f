/** The `@` references of a prompt, named for the agent; null when there are none (qwen.md §4.5). */
export function referencesIn(text: string): object | null {
  const references = [...text.matchAll(/(?:^|\s)(@((?:\\.|[^\s\\])+))/g)].map(([, original, resolved]) => ({ original, resolved }));
  return references.length > 0 ? { kind: 'at', references } : null;
}
