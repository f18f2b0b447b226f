import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { type HintAnswer, hintResult, type Line, type Suggestion } from '../../../protocols/qwen/codec.ts';
import type { HintRequest } from '../../../protocols/qwen/schema.ts';
import type { Commands } from '../../commands.ts';

const MOST = 50;
/** Milliseconds after which the client gets a notice of a slow answer. */
const SOON = 50;

/** The sources of hints. */
export interface HintScene {
  readonly session: string;
  readonly cwd: string;
  readonly commands: Commands;
}
export type ListFolder = (folder: string) => Promise<readonly Dirent[]>;
const onDisk: ListFolder = (folder) => readdir(folder, { withFileTypes: true });

/** Answers requests for hints (docs/protocols/qwen.md §4.6): commands at once, files when the folder is read. A request that was cancelled gets no answer. */
export class HintAnswers {
  readonly #write: (line: Line) => void;
  readonly #list: ListFolder;
  readonly #running = new Map<string, AbortController>();

  constructor(write: (line: Line) => void, list: ListFolder = onDisk) {
    this.#write = write;
    this.#list = list;
  }

  async answer(request: HintRequest, scene: HintScene): Promise<void> {
    const answer = (found: HintAnswer) => this.#write(hintResult(scene.session, request, found));
    // Text behind the caret is not part of the word that is typed.
    const typed = request.text.slice(0, Math.max(0, request.cursor));
    if (request.trigger === 'slash') return answer(commandHints(scene.commands, typed));
    if (request.trigger !== 'at') return answer({ status: 'error', message: `There are no hints for "${request.trigger}".` });
    const running = new AbortController();
    this.#running.set(request.prompt_id, running);
    const slow = setTimeout(() => {
      if (!running.signal.aborted) answer({ status: 'loading' });
    }, SOON);
    const found = await this.#files(folderOf(request, scene.cwd), scene.cwd, typed);
    clearTimeout(slow);
    if (!running.signal.aborted) answer(found);
    if (this.#running.get(request.prompt_id) === running) this.#running.delete(request.prompt_id);
  }

  /** A request that cannot be read. */
  refuse(session: string, { prompt_id: id, trigger }: Line, message: string): void {
    this.#write(hintResult(session, { prompt_id: String(id ?? ''), trigger: String(trigger ?? '') }, { status: 'error', message }));
  }

  cancel(id: unknown): void {
    if (typeof id === 'string') this.#running.get(id)?.abort();
  }

  /** Files and folders that go on from what was typed after the `@`. Spaces are escaped. */
  async #files(from: string, cwd: string, typed: string): Promise<HintAnswer> {
    const given = typed.replace(/^@/, '').replaceAll('\\ ', ' ');
    const folder = given.slice(0, given.lastIndexOf('/') + 1);
    const target = path.resolve(from, folder);
    if (!isInside(cwd, target)) return { status: 'error', message: `${folder} is outside of the folder that is worked in.` };
    try {
      const suggestions = (await this.#list(target))
        .filter((entry) => entry.name.startsWith(given.slice(folder.length)) && !entry.name.startsWith('.'))
        .slice(0, MOST)
        .map((entry): Suggestion => {
          const name = `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`;
          return { label: name, value: name.replaceAll(' ', '\\ ') };
        });
      return { status: 'ok', suggestions, perfect: suggestions.some((one) => one.value === typed.replace(/^@/, '')) };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return { status: 'ok', suggestions: [], perfect: false };
      return { status: 'error', message: `${folder} cannot be read: ${String(code)}` };
    }
  }
}

/** Commands that begin with what was typed. */
function commandHints(commands: Commands, typed: string): HintAnswer {
  const word = typed === '?' ? '?' : typed.replace(/^[/?]/, '');
  const suggestions = commands.all
    .filter((command) => command.name.startsWith(word) || (word !== '' && command.aliases.includes(word)))
    .map(({ name, description }): Suggestion => ({ label: name, value: name, description }));
  return { status: 'ok', suggestions, perfect: commands.find(word) !== undefined };
}

/** The folder a client looks from, where it is one of the workspace. */
function folderOf({ context }: HintRequest, cwd: string): string {
  return context?.cwd && isInside(cwd, context.cwd) ? path.resolve(cwd, context.cwd) : cwd;
}

function isInside(folder: string, target: string): boolean {
  const below = path.relative(folder, path.resolve(folder, target));
  return below !== '..' && !below.startsWith(`..${path.sep}`) && !path.isAbsolute(below);
}
