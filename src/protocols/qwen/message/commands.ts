import { t } from '../../../base/l10n.ts';
import type { Command } from '../../../session/model.ts';
import type { Initialized } from './schema.ts';

/** The shipped agent gives names only (qwen.md §3.9). */
const KNOWN: Readonly<Record<string, () => string>> = {
  auth: () => t('Choose how to sign in'),
  bug: () => t('Report a problem with the agent'),
  clear: () => t('Forget the conversation so far and begin a new one'),
  compress: () => t('Replace the conversation so far by a summary'),
  context: () => t('Show what fills the context'),
  diff: () => t('Show what has changed in the workspace'),
  docs: () => t('Open the documentation'),
  doctor: () => t('Check the installation'),
  effort: () => t('Set how much the model thinks'),
  export: () => t('Save the conversation to a file'),
  extensions: () => t('Manage extensions'),
  init: () => t('Write a file that describes this project for the agent'),
  mcp: () => t('Show the MCP servers'),
  memory: () => t('Show or change what the agent remembers'),
  model: () => t('Choose the model'),
  review: () => t('Review the changes in the workspace'),
  stats: () => t('Show what this session has used'),
  summary: () => t('Write a summary of the conversation'),
  tools: () => t('Show the tools of the agent'),
};

/** The prompt is the command that makes the agent forget the conversation, by one of its names. */
export function clearsIn(prompt: string): boolean {
  return /^\/(clear|reset|new)(\s|$)/.test(prompt);
}

/** The commands an agent knows, gathered from several lists; the first description of a name stands. */
export class Commands {
  #byName = new Map<string, Command>();

  /** True when something is new. */
  addNames(names: readonly string[]): boolean {
    return this.#add(names.map((name) => ({ name: plain(name), description: KNOWN[plain(name)]?.() ?? '', aliases: [] })));
  }

  addDescribed(commands: NonNullable<Initialized['commands']>): boolean {
    return this.#add(
      commands.map(({ name, description, argumentHint }) => ({
        name: plain(name),
        description: description ?? '',
        aliases: [],
        ...(argumentHint ? { hint: argumentHint } : {}),
      })),
    );
  }

  get all(): readonly Command[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** True unless the text names a command nobody has announced. */
  knows(text: string): boolean {
    const name = /^\/([^\s/]+)(\s|$)/.exec(text)?.[1];
    return name === undefined || this.#byName.has(name);
  }

  #add(commands: readonly Command[]): boolean {
    let news = false;
    for (const command of commands) {
      if (command.name === '' || this.#byName.has(command.name)) continue;
      this.#byName.set(command.name, command);
      news = true;
    }
    return news;
  }
}

function plain(name: string): string {
  return name.replace(/^\//, '');
}
