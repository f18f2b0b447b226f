import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { type ChatServeOptions, serveChats } from '../../../src/agent/servers/ai-sdk/serve.ts';
import { type Line, scriptedModel } from '../scripted.ts';

export const ID = '0b9d3b0e-2b9a-4b52-9d6c-3c8a54c0f001';

/** The frontend over a scripted model, in an empty folder. */
export async function served(t: TestContext, lines: readonly Line[], more: Partial<ChatServeOptions> = {}) {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-face-'));
  const model = scriptedModel(lines);
  const frontend = await serveChats({ model, workspace: { cwd, roots: [cwd] }, port: 0, origins: [], ...more });
  t.after(async () => {
    await frontend.end();
    rmSync(cwd, { recursive: true, force: true });
  });
  return { cwd, model, url: frontend.url };
}

export type Chunk = { readonly type: string; readonly [field: string]: unknown };

/** A plain client: one request, all its chunks. */
export async function post(
  url: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<{ status: number; chunks: Chunk[]; text: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, chunks: chunksIn(text), text };
}
export const chunksIn = (text: string): Chunk[] =>
  text.split('\n\n').flatMap((event) => (event.startsWith('data: {') ? [JSON.parse(event.slice(6)) as Chunk] : []));
export const user = (text: string) => ({ id: 'u', role: 'user', parts: [{ type: 'text', text }] });
export const types = (chunks: readonly Chunk[]): readonly string[] => chunks.map((chunk) => chunk.type);
