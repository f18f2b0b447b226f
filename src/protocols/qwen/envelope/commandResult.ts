import { t } from '../../../base/l10n.ts';
import type { ResultCommand } from './schema.ts';

/** What a user does about `result/command` (qwen.md §4.5). */
export type CommandOutcome =
  | { readonly does: 'say'; readonly level: 'info' | 'warn' | 'error'; readonly text: string }
  /** The command's own answer, as Markdown. */
  | { readonly does: 'tell'; readonly text: string }
  | { readonly does: 'nothing' }
  /** The agent goes on with a turn; what to send when it does not by itself. */
  | { readonly does: 'turn'; readonly parts: readonly unknown[] }
  | { readonly does: 'tool'; readonly name: string; readonly args: unknown }
  | { readonly does: 'history'; readonly items: readonly unknown[] }
  | { readonly does: 'quit' }
  | {
      readonly does: 'confirm';
      readonly title: string;
      readonly text?: string;
      readonly commands: readonly string[];
      readonly shell: boolean;
    };

const DIALOGS: Readonly<Record<string, () => string>> = {
  auth: () => t('Sign in with the agent in a terminal; it has no dialog for that here.'),
  theme: () => t('Colours follow the theme of the editor.'),
  editor: () => t('Files open in this editor.'),
  privacy: () => t('The agent shows its privacy notice only in a terminal.'),
  settings: () => t('The agent keeps its settings in a file of its own.'),
  model: () => t('Choose the model with the arguments of the agent.'),
  help: () => t('Type / to see the commands of the agent.'),
  subagent_create: () => t('Sub-agents are made in a terminal.'),
  subagent_list: () => t('The agent lists its sub-agents only in a terminal.'),
};

export function outcomeOf(line: ResultCommand): CommandOutcome {
  const { result } = line;
  const text = (key: string) => (typeof result[key] === 'string' ? result[key] : undefined);
  switch (result.type) {
    case 'handled':
      return { does: 'nothing' };
    case 'message': {
      const level = text('level') ?? text('messageType');
      const words = text('content') ?? '';
      return level === 'error' || level === 'warn' ? { does: 'say', level, text: words } : { does: 'tell', text: words };
    }
    case 'dialog': {
      const name = text('dialog') ?? '';
      return { does: 'say', level: 'info', text: DIALOGS[name]?.() ?? t('The agent has a dialog "{0}" that does not exist here.', name) };
    }
    case 'tool':
      return { does: 'tool', name: text('toolName') ?? text('name') ?? 'tool', args: result.toolArgs ?? result.args };
    case 'submit_prompt': {
      const content = result.content ?? result.parts;
      return {
        does: 'turn',
        parts: typeof content === 'string' ? [{ type: 'text', text: content }] : Array.isArray(content) ? content : [],
      };
    }
    case 'load_history':
      return { does: 'history', items: [result.history, result.items, result.clientHistory].find(Array.isArray) ?? [] };
    case 'quit':
    case 'quit_confirmation':
      return { does: 'quit' };
    case 'confirm_shell_commands': {
      const commands = [result.commandsToConfirm, result.commands].find(Array.isArray) ?? [];
      return { does: 'confirm', title: t('Run these commands?'), commands: commands.filter(isText), shell: true };
    }
    case 'confirm_action': {
      const words = text('prompt') ?? text('message');
      return { does: 'confirm', title: t('Go on?'), ...(words ? { text: words } : {}), commands: [], shell: false };
    }
    default: {
      const all = JSON.stringify(result).slice(0, 4000);
      return { does: 'say', level: 'info', text: t('The agent answered in a way this program does not know: {0}', all) };
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
