import type { Command } from '../../session/model.ts';
import type { Memory } from './memory.ts';
import { parse, RpcError } from './rpc.ts';
import { slashCommand } from './schema.ts';
import { fields, isRecord } from './words.ts';

const DEEPEST = 5;
const MOST = 500;

export interface CommandTree {
  readonly commands: readonly Command[];
  /** Arguments that must be given, by the command's path. */
  readonly required: ReadonlyMap<string, readonly { readonly name: string; readonly description: string }[]>;
  readonly by: 'rpc' | 'rest';
}

/** The agent's slash commands, however it offers them (a2a.md §13); undefined when it offers none. Never rejects for what the agent says. */
export async function findCommands(memory: Pick<Memory, 'peer' | 'rpc' | 'base'>): Promise<CommandTree | undefined> {
  if (memory.peer.dialect === 'rfc') {
    try {
      return treeOf(await memory.rpc.call('commands/get', {}), 'rpc');
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
    }
  }
  const within = memory.rpc.timing.answer;
  const answer = await memory.rpc.fetch('GET', `${memory.base}/listCommands`, { within }).catch(() => undefined);
  return answer && treeOf(parse(await answer.text(8 * 1024 * 1024, within)), 'rest');
}

function treeOf(value: unknown, by: CommandTree['by']): CommandTree | undefined {
  if (!isRecord(value) || !Array.isArray(value.commands)) return undefined;
  const required = new Map<string, readonly { readonly name: string; readonly description: string }[]>();
  const read = (all: readonly unknown[], path: readonly string[]): readonly Command[] =>
    path.length >= DEEPEST
      ? []
      : all.slice(0, MOST).flatMap((one): readonly Command[] => {
          const parsed = slashCommand.safeParse(plain(one));
          if (!parsed.success) return [];
          const { description, arguments: args, sub_commands: below } = parsed.data;
          const parent = `${path.join(' ')} `;
          // The shipped server names sub-commands by their whole path.
          const name = path.length > 0 && parsed.data.name.startsWith(parent) ? parsed.data.name.slice(parent.length) : parsed.data.name;
          const here = [...path, name];
          const needed = (args ?? [])
            .filter((arg) => arg.is_required)
            .map((arg) => ({ name: arg.name, description: arg.description ?? '' }));
          if (needed.length > 0) required.set(here.join(' '), needed);
          const hint = (args ?? []).map((arg) => (arg.is_required ? `<${arg.name}>` : `[${arg.name}]`)).join(' ');
          const children = read(below ?? [], here);
          return [
            {
              name,
              description: description ?? '',
              aliases: [],
              ...(hint ? { hint } : {}),
              ...(children.length > 0 ? { children } : {}),
            },
          ];
        });
  return { commands: read(value.commands, []), required, by };
}

function plain(value: unknown): unknown {
  const command = fields(value, ['name', 'description', 'arguments', 'sub_commands']);
  return {
    ...command,
    ...(Array.isArray(command.arguments)
      ? { arguments: command.arguments.map((one: unknown) => fields(one, ['name', 'description', 'is_required'])) }
      : {}),
  };
}
