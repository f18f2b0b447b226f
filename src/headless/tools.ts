import { existsSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { isForeign } from '../protocols/paths.ts';
import type { Secrets, Tool } from '../protocols/ports.ts';
import type { ScriptedTool } from './script.ts';

const openInput = z.object({ path: z.string(), line: z.optional(z.number()) });

/** The tools of a run. A script's tool replaces the editor tool of its name: so it can be slow or fail with an agent that knows only that one. */
export function headlessTools(cwd: string, scripted: readonly ScriptedTool[] = []): readonly Tool[] {
  const names = new Set(scripted.map(({ name }) => name));
  return [...editorTools(cwd).filter(({ name }) => !names.has(name)), ...scripted.map(scriptedTool)];
}

/** The editor tools that work without an editor: they record opened files and return them on request. */
function editorTools(cwd: string): readonly Tool[] {
  const opened: string[] = [];
  return [
    {
      name: 'open_in_ide',
      description: 'Open a file in the editor, at a 1-based line if given.',
      parameters: {
        type: 'object',
        properties: { path: { type: 'string' }, line: { type: 'integer', minimum: 1 } },
        required: ['path'],
        additionalProperties: false,
      },
      run: async (input) => {
        const parsed = openInput.safeParse(input);
        if (!parsed.success) return { ok: false, text: 'path must be text, line a number' };
        const file = path.resolve(cwd, parsed.data.path);
        // There is no user to ask here.
        if (isForeign(file, [cwd]) || !existsSync(file)) return { ok: false, text: `There is no file ${file}` };
        opened.push(file);
        return { ok: true, text: `Opened ${file}${parsed.data.line === undefined ? '' : `:${parsed.data.line}`}` };
      },
    },
    {
      name: 'get_open_editors',
      description: 'List the files that are open in the editor.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
      run: async () => ({ ok: true, text: JSON.stringify(opened.map((file) => ({ path: file }))) }),
    },
  ];
}

/** A tool of a script: it answers, or fails, after a delay. */
function scriptedTool({ name, description, parameters, result, error, afterMs = 0 }: ScriptedTool): Tool {
  return {
    name,
    description: description ?? `The tool ${name}.`,
    parameters: parameters ?? { type: 'object' },
    run: async (_input, signal) => {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, afterMs);
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          resolve();
        });
      });
      return error === undefined ? { ok: true, text: result ?? '' } : { ok: false, text: error };
    },
  };
}

/** Credentials of a script, each by an address, whose origin counts, or by a text within the name under which the protocol keeps it, as a variable. */
export function scriptedSecrets(given: Readonly<Record<string, string>>): Secrets {
  const kept = new Map<string, string | undefined>();
  return {
    get: async (name) => (kept.has(name) ? kept.get(name) : Object.entries(given).find(([of]) => isOf(name, of))?.[1]),
    set: async (name, value) => void kept.set(name, value),
  };
}

/** A protocol keeps what is for an address under its origin, between its own name and what it may add after a `#`. */
function isOf(name: string, of: string): boolean {
  if (!/^https?:/i.test(of) || !URL.canParse(of)) return name.includes(of);
  return name.slice(name.indexOf(':') + 1).split('#', 1)[0] === new URL(of).origin;
}
