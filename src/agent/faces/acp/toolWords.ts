import { pathToFileURL } from 'node:url';
import type { Shown } from '../../tools/tool.ts';

/** Our tools in the words of the protocol (acp.md §8). */

const KINDS: Readonly<Record<string, string>> = {
  ReadFile: 'read',
  ListDirectory: 'read',
  Glob: 'search',
  Grep: 'search',
  WriteFile: 'edit',
  StrReplaceFile: 'edit',
  Shell: 'execute',
  SetTodoList: 'think',
  ExitPlanMode: 'switch_mode',
};

export function kindOf(tool: string): string {
  return Object.hasOwn(KINDS, tool) ? (KINDS[tool] ?? 'other') : 'other';
}

/** A command stands for itself; otherwise the tool and what it is about. */
export function titleOf(tool: string, input: unknown): string {
  const { command, path, pattern } = (typeof input === 'object' && input !== null ? input : {}) as Readonly<Record<string, unknown>>;
  if (tool === 'Shell' && typeof command === 'string') return command;
  const about = [path, pattern].find((one) => typeof one === 'string');
  return about === undefined ? tool : `${tool} ${String(about)}`;
}

export function contentOf(shown: readonly Shown[]): readonly object[] {
  return shown.flatMap((one): readonly object[] => {
    switch (one.type) {
      case 'diff':
        return [{ type: 'diff', path: one.path, oldText: one.before, newText: one.after }];
      case 'brief':
        return [textContent(one.text)];
      case 'command':
      case 'task':
      case 'todo':
      case 'other':
        return [];
    }
  });
}

export function planOf(shown: readonly Shown[]): object | undefined {
  const todo = shown.find((one) => one.type === 'todo');
  if (todo?.type !== 'todo') return undefined;
  const entries = todo.items.map(({ title, status }) => ({
    content: title,
    priority: 'medium',
    status: status === 'done' ? 'completed' : status,
  }));
  return { sessionUpdate: 'plan', entries };
}

export function textContent(text: string): object {
  return { type: 'content', content: { type: 'text', text } };
}

export function linkText(uri: string, name: string): string {
  return uri.startsWith(pathToFileURL('/').href) ? `@${decodeURIComponent(new URL(uri).pathname)}` : `[${name}](${uri})`;
}
