import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import type { SessionOption } from '../../session/model.ts';
import type { AdapterContext, Launch } from '../adapter.ts';
import { type OfferedTools, offerTools } from '../offeredTools.ts';

type ProcessLaunch = Extract<Launch, { kind: 'process' }>;

/** What an agent that is started here finds our tools by (a2a.md §14): one address, which names no secret in the variable's name. */
export const VARIABLE = 'PARLEY_MCP_URL';
const OPTION = 'editorTools';
const FOLDER = 'parley-editor-tools';

/** Opens the door for an agent that is about to be started. undefined when there are no tools; never rejects: an agent works without them. */
export async function lend(scene: AdapterContext): Promise<OfferedTools | undefined> {
  return offerTools(scene.ports.tools, scene).catch((error: unknown) => {
    scene.log.error(`The agent gets no editor tools: ${messageOf(error)}`, error);
    return undefined;
  });
}

/** Tools that change nothing, as the agent names them when it asks. */
export function harmless(scene: AdapterContext, lent: OfferedTools | undefined): ReadonlySet<string> {
  if (!lent) return new Set();
  return new Set(scene.ports.tools.filter((tool) => tool.confirm === undefined).map((tool) => `${lent.name}/${tool.name}`));
}

/**
 * The shipped server takes tool servers from its own folders only. One folder in the user's home, put there when they turn the session's option
 * on and taken away when they turn it off, starts the bridge to the window that started the agent.
 */
export class ExtensionFolder {
  readonly #folder: string;
  readonly #lent: OfferedTools;
  #on = false;

  constructor(launch: ProcessLaunch, lent: OfferedTools) {
    const home = launch.env.GEMINI_CLI_HOME ?? launch.env.HOME ?? homedir();
    this.#folder = path.join(home, '.gemini', 'extensions', FOLDER);
    this.#lent = lent;
  }

  /** Looks whether it is there, and brings it up to date: the editor's own place changes with its version. */
  async look(): Promise<void> {
    const kept = await readFile(this.#file, 'utf8').catch(() => undefined);
    this.#on = kept !== undefined;
    if (this.#on && kept !== this.#content) await this.turn(true);
  }

  async turn(on: boolean): Promise<void> {
    if (on) {
      await mkdir(this.#folder, { recursive: true });
      await writeFile(this.#file, this.#content);
    } else await rm(this.#folder, { recursive: true, force: true });
    this.#on = on;
  }

  get option(): SessionOption {
    return {
      kind: 'switch',
      id: OPTION,
      name: t('Editor tools'),
      description: t(
        'Lets this agent open files and read problems here, by the folder {0}. Turning it off removes the folder.',
        this.#folder,
      ),
      on: this.#on,
    };
  }

  static isOption(id: string): boolean {
    return id === OPTION;
  }

  get #file(): string {
    return path.join(this.#folder, 'gemini-extension.json');
  }

  get #content(): string {
    const { command, args } = this.#lent.process;
    const server = { command, args, env: { ELECTRON_RUN_AS_NODE: '1' } };
    return `${JSON.stringify({ name: FOLDER, version: '1.0.0', mcpServers: { [this.#lent.name]: server } }, null, 2)}\n`;
  }
}
