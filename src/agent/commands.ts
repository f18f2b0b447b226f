import type { History } from './history.ts';
import type { Model } from './models/model.ts';
import type { Permissions } from './permissions.ts';
import type { Workspace } from './workspace/paths.ts';

/** The conversation, as commands see it. */
export interface Subject {
  readonly history: History;
  readonly model: Model;
  readonly permissions: Permissions;
  readonly workspace: Workspace;
  readonly commands: Commands;
  readonly planMode: boolean;
  setPlanMode(on: boolean): void;
  /** Forgets everything said. */
  clear(): void;
}
export interface CommandScene {
  readonly args: string;
  readonly conversation: Subject;
  say(text: string): void;
  /** False when there is too little to shorten. */
  compact(hint: string): Promise<boolean>;
}
/** A slash command. What `run` gives back goes to the model as the prompt; nothing means that the turn is over. */
export interface Command {
  readonly name: string;
  readonly description: string;
  readonly aliases: readonly string[];
  /** Hands a long order to the model, which the guide could not follow. */
  readonly needsModel?: true;
  run(scene: CommandScene): Promise<string | undefined>;
}
export interface Commands {
  readonly all: readonly Command[];
  find(name: string): Command | undefined;
}

/** The command at the beginning of a prompt: `/name args`. */
export function commandIn(text: string): { readonly name: string; readonly args: string } | undefined {
  const match = /^\/([A-Za-z0-9_-]+(?::[A-Za-z0-9_-]+)*)(?:\s+([\s\S]*))?$/.exec(text.trim());
  return match?.[1] === undefined ? undefined : { name: match[1], args: (match[2] ?? '').trim() };
}

/** All commands that work with the model at hand. */
export function commandsOf(extra: readonly Command[], model: Model): Commands {
  const all = [...builtIn, ...extra].filter((command) => !(model.offline && command.needsModel));
  return { all, find: (name) => all.find((command) => command.name === name || command.aliases.includes(name)) };
}

const INIT = `Explore this workspace (folders, build files, README, main sources, tests) and write the file AGENTS.md in its root: what the project is, how it is built, run and tested (exact commands), how the code is laid out, and the conventions a newcomer must keep. Only what you have seen, at most a page. If AGENTS.md exists already, improve it instead of starting over.`;

const builtIn: readonly Command[] = [
  {
    name: 'help',
    description: 'List the commands',
    aliases: ['h', '?'],
    run: async ({ conversation, say }) => {
      const rows = conversation.commands.all.map((command) => `- \`/${command.name}\` - ${command.description}`);
      say(`${rows.join('\n')}\n`);
      return undefined;
    },
  },
  {
    name: 'init',
    description: 'Look at the workspace and write AGENTS.md',
    aliases: [],
    needsModel: true,
    run: async ({ args }) => (args === '' ? INIT : `${INIT}\n\n${args}`),
  },
  {
    name: 'compact',
    description: 'Put a summary in the place of the conversation so far; text after it says what to keep',
    aliases: [],
    run: async ({ args, say, compact }) => {
      say((await compact(args)) ? 'The conversation so far is now a summary.' : 'There is too little to shorten yet.');
      return undefined;
    },
  },
  {
    name: 'clear',
    description: 'Forget the conversation so far',
    aliases: ['reset'],
    run: async ({ conversation, say }) => {
      conversation.clear();
      say('The conversation so far is forgotten.');
      return undefined;
    },
  },
  {
    name: 'plan',
    description: 'Plan mode: look and plan, change nothing. /plan on, /plan off, or /plan to switch',
    aliases: [],
    run: async ({ args, conversation, say }) => {
      const on = args === 'on' ? true : args === 'off' ? false : !conversation.planMode;
      conversation.setPlanMode(on);
      say(on ? 'Plan mode is on: nothing is changed until you switch it off or approve a plan.' : 'Plan mode is off.');
      return undefined;
    },
  },
  {
    name: 'model',
    description: 'Say which model answers and how to choose another',
    aliases: [],
    run: async ({ conversation, say }) => {
      say(
        `The model is **${conversation.model.name}** (context of ${conversation.model.contextSize} tokens). Choose another with the settings \`parley.model.baseUrl\` and \`parley.model.name\`, or the command **Parley: Configure Model**.`,
      );
      return undefined;
    },
  },
  {
    name: 'status',
    description: 'Show folder, model, context and what is allowed for this session',
    aliases: [],
    run: async ({ conversation, say }) => {
      const { history, model, permissions, workspace } = conversation;
      const share = Math.round((history.tokens / model.contextSize) * 100);
      const allowed = permissions.granted.join(', ') || 'nothing';
      say(
        `- Folder: \`${workspace.cwd}\`\n- Model: ${model.name}\n- Context: about ${history.tokens} of ${model.contextSize} tokens (${share} %)\n- Allowed without asking in this session: ${allowed}\n`,
      );
      return undefined;
    },
  },
];
