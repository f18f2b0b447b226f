import path from 'node:path';
import * as vscode from 'vscode';
import * as z from 'zod/mini';
import { toJSONSchema } from 'zod/v4/core';
import { pathBelow, realPathNow } from '../../protocols/paths.ts';
import type { Confirmation, Tool, ToolAnswer } from '../../protocols/ports.ts';
import type { ToolKind } from '../../session/model.ts';
import { openDocument } from '../files.ts';
import { inWorkspace } from '../workspaceFiles.ts';

/** Characters of an answer at most; models charge for every one. */
const LONGEST = 64 * 1024;

/** Fields that several tools take, with the same description. */
export const pathField = z
  .string()
  .check(z.minLength(1), z.maxLength(4096), z.describe('Path of the file, absolute or relative to the workspace folder.'));
export const lineField = (what: string) => z.int().check(z.gte(1), z.describe(`${what} Lines are 1-based.`));

export interface ToolShape<S extends z.ZodMiniType> {
  readonly name: string;
  readonly description: string;
  readonly input: S;
  /** The kind shown when a path outside the workspace is confirmed. */
  readonly kind: ToolKind;
  readonly cwd: string;
  run(input: z.output<S>, signal: AbortSignal): Promise<ToolAnswer>;
}

/** Builds a tool whose JSON Schema and check are one definition. A `path` that leads out of the workspace, links followed, asks first. */
export function toolOf<S extends z.ZodMiniType>(shape: ToolShape<S>): Tool {
  const { $schema: _, ...parameters } = toJSONSchema(shape.input, { io: 'input' });
  return {
    name: shape.name,
    description: shape.description,
    parameters,
    confirm: (input) => outside(shape, input),
    run: async (input, signal) => {
      const parsed = shape.input.safeParse(input);
      if (!parsed.success) return { ok: false, text: z.prettifyError(parsed.error) };
      signal.throwIfAborted();
      const answer = await shape.run(parsed.data, signal);
      return answer.text.length > LONGEST ? { ...answer, text: `${answer.text.slice(0, LONGEST)}… (cut)` } : answer;
    },
  };
}

export function resolved(cwd: string, file: string): string {
  return path.resolve(cwd, file);
}

/** The document of a path, opened without being shown. Rejects with a message for the model. */
export async function documentAt(cwd: string, file: string): Promise<vscode.TextDocument> {
  try {
    const uri = vscode.Uri.file(resolved(cwd, file));
    // The editor itself would wait for data from a pipe.
    if (!openDocument(uri.fsPath) && ((await vscode.workspace.fs.stat(uri)).type & vscode.FileType.File) === 0)
      throw new Error('Not a file');
    return await vscode.workspace.openTextDocument(uri);
  } catch {
    throw new Error(`${file} cannot be opened: there is no such file, or it is not text`);
  }
}

export function succeeded(value: unknown): ToolAnswer {
  return { ok: true, text: typeof value === 'string' ? value : JSON.stringify(value) };
}

function outside<S extends z.ZodMiniType>(shape: ToolShape<S>, input: unknown): Confirmation | undefined {
  if (typeof input !== 'object' || input === null || !('path' in input) || typeof input.path !== 'string') return undefined;
  const file = resolved(shape.cwd, input.path);
  if (isInside(shape.cwd, file) && isInside(shape.cwd, realPathNow(file))) return undefined;
  return {
    title: vscode.l10n.t('{0} (outside the workspace)', shape.name),
    kind: shape.kind,
    detail: { type: 'text', text: file },
  };
}

function isInside(cwd: string, file: string): boolean {
  return pathBelow(cwd, file) !== undefined || inWorkspace(file);
}
