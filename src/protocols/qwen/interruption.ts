/** Whether a line in the person's name is what Claude Code writes for its model when the person stopped it (qwen.md §12). */
export function isInterruption(text: string): boolean {
  return text.trimStart().startsWith('[Request interrupted');
}
