import path from 'node:path';
import { createTwoFilesPatch } from 'diff';
import type { ApprovalRequest } from '../../frontend.ts';
import { localize } from '../../locale.ts';
import type { Outcome, Shown } from '../../tools/tool.ts';

/** The RFC's objects as this frontend writes them (docs/protocols/a2a.md §6). */

export type Json = Readonly<Record<string, unknown>>;

export function diffOf(shown: readonly Shown[]): Json | undefined {
  const diff = shown.find((one) => one.type === 'diff');
  if (!diff) return undefined;
  return {
    file_name: path.basename(diff.path),
    file_path: diff.path,
    ...(diff.before === null ? {} : { old_content: diff.before }),
    new_content: diff.after,
    formatted_diff: createTwoFilesPatch(diff.path, diff.path, diff.before ?? '', diff.after),
  };
}

export function outputOf(outcome: Outcome): Json {
  const diff = diffOf(outcome.shown);
  if (diff) return { diff };
  return { text: [outcome.text, outcome.message].filter(Boolean).join('\n') };
}

/** `cwd`: where a command would run. */
export function requestOf(request: ApprovalRequest, cwd: string): Json {
  const command = request.shown.find((one) => one.type === 'command');
  const diff = diffOf(request.shown);
  return {
    options: [
      { id: 'proceed_once', name: localize('Allow once', '允许一次') },
      { id: 'proceed_always', name: localize('Allow for this session', '在本次会话中允许'), description: request.action },
      { id: 'cancel', name: localize('Reject', '拒绝') },
    ],
    ...(diff
      ? { file_edit_details: diff }
      : command
        ? { execute_details: { command: command.command, working_directory: cwd } }
        : { generic_details: { description: request.description } }),
  };
}

export function inputOf(text: string): Json {
  try {
    const value: unknown = JSON.parse(text || '{}');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : { value };
  } catch {
    return { text };
  }
}
