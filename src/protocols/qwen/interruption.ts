/** Whether a line in the user's name is what Claude Code writes for its model when the user stopped it (qwen.md §12). */
export function isInterruption(text: string): boolean {
  return text.trimStart().startsWith('[Request interrupted');
}
