import * as vscode from 'vscode';
import * as z from 'zod/mini';
import { isMissing } from '../../base/log.ts';
import { realPathNow } from '../../protocols/paths.ts';
import type { Confirmation, Files, Terminals, Tool, ToolAnswer } from '../../protocols/ports.ts';
import { readTextFileSync } from '../../protocols/textFile.ts';
import { plain } from '../../session/lineEnds.ts';
import type { Diff, ToolKind } from '../../session/model.ts';
import { isOutOfReach, openDocument } from '../files.ts';
import { documentAt, lineField, pathField, resolved, succeeded, toolOf } from './toolOf.ts';

/** Lines of a file given at once, and files named at once. */
const LINES = 2000;
const FILES = 500;
const text = z.string().check(z.maxLength(1024 * 1024));

export interface RemoteToolsContext {
  readonly cwd: string;
  /** The only object through which the host writes: it serializes writes of one file. */
  readonly files: Files;
  readonly terminals: Terminals;
}

/** File and terminal tools for agents without local access, such as remote chat servers: reading is free, changing or running anything asks first. */
export function remoteTools({ cwd, files, terminals }: RemoteToolsContext): readonly Tool[] {
  return [
    toolOf({
      cwd,
      kind: 'read',
      name: 'read_file',
      description: 'Read a text file as the user has it, unsaved changes included. Gives its lines with their 1-based numbers.',
      input: z.strictObject({
        path: pathField,
        line: z.optional(lineField('First line to read.')),
        lines: z.optional(z.int().check(z.gte(1), z.lte(LINES), z.describe(`How many lines; ${LINES} when not given. Lines are 1-based.`))),
      }),
      run: async ({ path: file, line = 1, lines = LINES }) => {
        const document = await documentAt(cwd, file);
        const shown = plain(document.getText())
          .split('\n')
          .slice(line - 1, line - 1 + lines);
        const left = document.lineCount - (line - 1) - shown.length;
        const numbered = shown.map((one, at) => `${line + at}\t${one}`).join('\n');
        return succeeded(left > 0 ? `${numbered}\n(${left} more lines)` : numbered);
      },
    }),
    toolOf({
      cwd,
      kind: 'search',
      name: 'find_files',
      description: `List files of the workspace whose path fits a glob, such as "src/**/*.ts". At most ${FILES}.`,
      input: z.strictObject({ glob: z.string().check(z.minLength(1), z.maxLength(1000)) }),
      run: async ({ glob }) => {
        const found = await vscode.workspace.findFiles(new vscode.RelativePattern(vscode.Uri.file(cwd), glob), undefined, FILES);
        const names = found.map((uri) => vscode.workspace.asRelativePath(uri, false)).sort();
        return succeeded(names.length === 0 ? 'No file fits.' : names.join('\n'));
      },
    }),
    editTool(cwd, files),
    commandTool(cwd, terminals),
  ];
}

const edit = z.strictObject({
  path: pathField,
  old_text: text.check(z.describe('The text to replace, exactly as it stands and only once in the file. Empty: the file is new.')),
  new_text: text.check(z.describe('What takes its place.')),
});

/** An edit that the user was asked about: where its file lay, and what it held. A path out of reach has neither. */
interface Asked {
  readonly real?: string;
  readonly before?: string;
}

function editTool(cwd: string, files: Files): Tool {
  const apply = async (input: z.output<typeof edit>, { real, before }: Asked, edited?: string): Promise<ToolAnswer> => {
    const proposed = changeOf(cwd, input);
    if (typeof proposed === 'string') return refuse(proposed);
    const diff = edited === undefined ? proposed : { ...proposed, after: plain(edited) };
    await files.write(diff.path, diff.after, edited === undefined ? undefined : before, real);
    const done = `${diff.before === null ? 'Made' : 'Changed'} ${input.path}`;
    const text = edited === undefined ? done : `${done} in a version that the user edited: read the file again.`;
    return { ok: true, text, shown: [{ kind: 'diff', diff }] };
  };
  const tool = toolOf({
    cwd,
    kind: 'edit',
    name: 'edit_file',
    description: 'Replace one piece of text in a file, or make a new file. The user is shown the change and decides.',
    input: edit,
    run: (input) => apply(input, {}),
  });
  /** Inputs that the user was asked about: nothing else is written, whatever the file has become since. */
  const asked = new WeakMap<object, Asked>();
  const applyAsked = async (given: unknown, signal: AbortSignal, edited?: string): Promise<ToolAnswer> => {
    const parsed = edit.safeParse(given);
    const allowed = typeof given === 'object' && given !== null ? asked.get(given) : undefined;
    signal.throwIfAborted();
    if (parsed.success && allowed) return apply(parsed.data, allowed, edited);
    const diff = parsed.success ? changeOf(cwd, parsed.data) : z.prettifyError(parsed.error);
    return refuse(typeof diff === 'string' ? diff : 'The file has changed just now. Try again.');
  };
  return {
    ...tool,
    confirm: (given) => {
      const parsed = edit.safeParse(given);
      const outOfReach = parsed.success && isOutOfReach(resolved(cwd, parsed.data.path), cwd);
      const diff = !parsed.success ? '' : outOfReach ? excerptOf(cwd, parsed.data) : changeOf(cwd, parsed.data);
      // An impossible edit needs no approval: the tool returns the reason.
      if (!parsed.success || typeof diff === 'string' || typeof given !== 'object' || given === null) return undefined;
      asked.set(given, outOfReach ? {} : { real: realPathNow(diff.path), ...(diff.before === null ? {} : { before: diff.before }) });
      const { path: file } = parsed.data;
      const title = diff.before === null ? vscode.l10n.t('Create {0}', file) : vscode.l10n.t('Edit {0}', file);
      return confirmation(title, 'edit', { type: 'edit', diffs: [diff] }, tool.confirm?.(given));
    },
    run: (given, signal) => applyAsked(given, signal),
    runEdited: (given, edited, signal) => applyAsked(given, signal, edited),
  };
}

/** The change as the agent tells it, for a file that may not be looked at yet. */
function excerptOf(cwd: string, { path: file, old_text, new_text }: z.output<typeof edit>): Diff {
  const before = old_text === '' ? null : plain(old_text);
  return { path: resolved(cwd, file), before, after: plain(new_text), ...(before === null ? {} : { excerpt: {} }) };
}

/** The change as whole files, or why it is impossible. */
function changeOf(cwd: string, { path: file, old_text, new_text }: z.output<typeof edit>): (Diff & { after: string }) | string {
  const target = resolved(cwd, file);
  const present = textNow(target);
  if (present === undefined) return `${file} cannot be read as text`;
  const before = present === null ? null : plain(present);
  const [old, fresh] = [plain(old_text), plain(new_text)];
  if (old === '') return before ? `${file} exists already; give the text to replace` : { path: target, before, after: fresh };
  const at = before?.indexOf(old) ?? -1;
  if (before === null) return `There is no file ${file}`;
  if (at < 0) return `${file} does not contain that text`;
  if (before.includes(old, at + 1)) return `${file} contains that text more than once; give more of what stands around it`;
  return old === fresh
    ? 'That changes nothing'
    : { path: target, before, after: before.slice(0, at) + fresh + before.slice(at + old.length) };
}

/** Reads the user's current text synchronously: null when there is no such file, undefined when it cannot be read. */
function textNow(file: string): string | null | undefined {
  try {
    return openDocument(file)?.getText() ?? readTextFileSync(file).replace(/^\uFEFF/, '');
  } catch (error) {
    return isMissing(error) ? null : undefined;
  }
}

function commandTool(cwd: string, terminals: Terminals): Tool {
  const input = z.strictObject({
    command: z.string().check(z.minLength(1), z.maxLength(10_000), z.describe('A command line for the shell of this machine.')),
  });
  const tool = toolOf({
    cwd,
    kind: 'execute',
    name: 'run_command',
    description: 'Run a command in the workspace folder, up to a minute. The user decides. Gives its output and exit code.',
    input,
    run: async ({ command }, signal) => {
      const terminal = await terminals.create({ command, cwd, limit: 64 * 1024 });
      const stop = () => terminal.kill();
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      const exit = await terminal.exited();
      signal.removeEventListener('abort', stop);
      const { text: output } = terminal.output();
      terminal.release();
      const how = signal.aborted ? 'Stopped' : exit.code === null ? `Ended by ${exit.signal}` : `Exit code ${exit.code}`;
      return { ok: exit.code === 0, text: output === '' ? how : `${output.trimEnd()}\n${how}` };
    },
  });
  return {
    ...tool,
    confirm: (given) => {
      const parsed = input.safeParse(given);
      if (!parsed.success) return undefined;
      const { command } = parsed.data;
      return confirmation(vscode.l10n.t('Run in terminal'), 'execute', { type: 'command', command, cwd }, undefined);
    },
  };
}

/** Adds a warning to the title for paths outside the workspace. */
function confirmation(title: string, kind: ToolKind, detail: Confirmation['detail'], outside: Confirmation | undefined): Confirmation {
  return { title: outside ? `${outside.title}: ${title}` : title, kind, detail };
}

function refuse(why: string): ToolAnswer {
  return { ok: false, text: why };
}
