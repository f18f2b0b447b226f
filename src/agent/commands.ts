import { randomUUID } from 'node:crypto';
import type { Frontend } from './frontend.ts';
import type { History } from './history.ts';
import { localize as local } from './locale.ts';
import { isModelError, type Model } from './models/model.ts';
import type { Permissions } from './permissions.ts';
import type { Workspace } from './workspace/paths.ts';

/** The conversation, as commands see it. */
export interface CommandSubject {
  readonly history: History;
  readonly model: Model;
  readonly permissions: Permissions;
  readonly workspace: Workspace;
  readonly commands: Commands;
  readonly planMode: boolean;
  setPlanMode(on: boolean): void;
  /** Clears the conversation. */
  clear(): void;
}
export interface CommandContext {
  readonly args: string;
  readonly conversation: CommandSubject;
  translate(text: string): void;
  /** False when there is too little to shorten. */
  compact(hint: string): Promise<boolean>;
  /** Asks and answers beside the conversation. */
  aside(question: string): Promise<void>;
}
/** A slash command. The result of `run` goes to the model as the prompt; undefined ends the turn. */
export interface SlashCommand {
  readonly name: string;
  readonly description: string;
  readonly aliases: readonly string[];
  /** Arguments after the name, in this order; the last one takes the rest. */
  readonly args?: readonly CommandArgument[];
  /** True when it sends the model long instructions, which the guide cannot follow. */
  readonly needsModel?: true;
  run(context: CommandContext): Promise<string | undefined>;
}
export interface CommandArgument {
  readonly name: string;
  readonly description: string;
  readonly isRequired?: true;
}
export interface Commands {
  readonly all: readonly SlashCommand[];
  find(name: string): SlashCommand | undefined;
}

/** The command at the beginning of a prompt: `/name args`. */
export function commandIn(text: string): { readonly name: string; readonly args: string } | undefined {
  const match = /^\/([A-Za-z0-9_-]+(?::[A-Za-z0-9_-]+)*)(?:\s+([\s\S]*))?$/.exec(text.trim());
  return match?.[1] === undefined ? undefined : { name: match[1], args: (match[2] ?? '').trim() };
}

/** All commands that work with the model at hand. */
export function commandsOf(extra: readonly SlashCommand[], model: Model): Commands {
  const all = [...builtIn, ...extra].filter((command) => !(model.offline && command.needsModel));
  return { all, find: (name) => all.find((command) => command.name === name || command.aliases.includes(name)) };
}

const INIT = `Explore this workspace (folders, build files, README, main sources, tests) and write the file AGENTS.md in its root: what the project is, how it is built, run and tested (exact commands), how the code is laid out, and the conventions a newcomer must keep. Only what you have seen, at most a page. If AGENTS.md exists already, improve it instead of starting over.`;

/** For clients that show side questions. */
export const asideCommand: SlashCommand = {
  name: 'btw',
  description: local('Ask something beside the work; it is not kept in the conversation', '顺便问一个问题；不会留在对话中'),
  aliases: [],
  args: [{ name: 'question', description: local('What you want to know', '你想知道的内容'), isRequired: true }],
  needsModel: true,
  run: async ({ args, translate, aside }) => {
    if (args === '') translate(local('Say what you want to know: /btw QUESTION', '请写出你想知道的内容：/btw 问题'));
    else await aside(args);
    return undefined;
  },
};

const builtIn: readonly SlashCommand[] = [
  {
    name: 'help',
    description: local('List the commands', '列出命令'),
    aliases: ['h', '?'],
    run: async ({ conversation, translate }) => {
      const rows = conversation.commands.all.map((command) => `- \`/${command.name}\` - ${command.description}`);
      translate(`${rows.join('\n')}\n`);
      return undefined;
    },
  },
  {
    name: 'init',
    description: local('Look at the workspace and write AGENTS.md', '了解工作区并写出 AGENTS.md'),
    aliases: [],
    args: [{ name: 'focus', description: local('What to look at in particular', '要特别关注的内容') }],
    needsModel: true,
    run: async ({ args }) => (args === '' ? INIT : `${INIT}\n\n${args}`),
  },
  {
    name: 'compact',
    description: local(
      'Put a summary in the place of the conversation so far; text after it says what to keep',
      '用摘要代替目前的对话；后面可写明要保留什么',
    ),
    aliases: [],
    args: [{ name: 'keep', description: local('What the summary has to keep', '摘要中必须保留的内容') }],
    run: async ({ args, translate, compact }) => {
      translate(
        (await compact(args))
          ? local('The conversation so far is now a summary.', '目前的对话已变为摘要。')
          : local('There is too little to shorten yet.', '内容还太少，无需缩短。'),
      );
      return undefined;
    },
  },
  {
    name: 'clear',
    description: local('Forget the conversation so far', '忘记目前的对话'),
    aliases: ['reset'],
    run: async ({ conversation, translate }) => {
      conversation.clear();
      translate(local('The conversation so far is forgotten.', '目前的对话已忘记。'));
      return undefined;
    },
  },
  {
    name: 'plan',
    description: local(
      'Plan mode: look and plan, change nothing. /plan on, /plan off, or /plan to switch',
      '计划模式：只看和计划，不做更改。/plan on、/plan off，或用 /plan 切换',
    ),
    aliases: [],
    args: [{ name: 'mode', description: local('on or off; left out: switch', 'on 或 off；省略则切换') }],
    run: async ({ args, conversation, translate }) => {
      const on = args === 'on' ? true : args === 'off' ? false : !conversation.planMode;
      conversation.setPlanMode(on);
      translate(
        on
          ? local(
              'Plan mode is on: nothing is changed until you switch it off or approve a plan.',
              '计划模式已开启：在你关闭它或批准计划之前不会做任何更改。',
            )
          : local('Plan mode is off.', '计划模式已关闭。'),
      );
      return undefined;
    },
  },
  {
    name: 'model',
    description: local('Say which model answers and how to choose another', '说明当前模型以及如何更换'),
    aliases: [],
    run: async ({ conversation, translate }) => {
      translate(
        local(
          `The model is **${conversation.model.name}** (context of ${conversation.model.contextSize} tokens). Choose another with the settings \`parley.model.baseUrl\` and \`parley.model.name\`, or the command **Parley: Configure Model**.`,
          `当前模型是 **${conversation.model.name}**（上下文 ${conversation.model.contextSize} 个 token）。可通过设置 \`parley.model.baseUrl\` 和 \`parley.model.name\`，或命令 **Parley: Configure Model** 更换。`,
        ),
      );
      return undefined;
    },
  },
  {
    name: 'status',
    description: local(
      'Show folder, model, context and what is allowed for this session',
      '显示文件夹、模型、上下文以及本会话已允许的操作',
    ),
    aliases: [],
    run: async ({ conversation, translate }) => {
      const { history, model, permissions, workspace } = conversation;
      const share = Math.round((history.tokens / model.contextSize) * 100);
      const allowed = permissions.allowsAll ? local('everything', '全部') : permissions.granted.join(', ') || local('nothing', '无');
      translate(
        local(
          `- Folder: \`${workspace.cwd}\`\n- Model: ${model.name}\n- Context: about ${history.tokens} of ${model.contextSize} tokens (${share} %)\n- Allowed without asking in this session: ${allowed}\n`,
          `- 文件夹：\`${workspace.cwd}\`\n- 模型：${model.name}\n- 上下文：约 ${history.tokens} / ${model.contextSize} 个 token（${share} %）\n- 本会话中无需询问即允许：${allowed}\n`,
        ),
      );
      return undefined;
    },
  },
];

// --- side questions

interface AsideContext {
  readonly frontend: Frontend;
  readonly model: Model;
  readonly history: History;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
}

const ROLE = 'Answer this side question briefly from what you know of the conversation. Do not go on with the work; there are no tools.';

/** A side question: answered from the conversation and not kept in it. The error of a failing model becomes the answer; throws only for the signal. */
export async function askAside(context: AsideContext, question: string): Promise<void> {
  const { frontend, model, history, workspace, signal } = context;
  const id = randomUUID();
  frontend.emit({ type: 'aside.asked', id, question });
  let text = '';
  try {
    const messages = [...history.messages, { role: 'user', parts: [{ type: 'text', text: question }] } as const];
    for await (const piece of model.answer({ cwd: workspace.cwd, system: ROLE, history: messages, tools: [] }, signal)) {
      if (piece.type === 'text') text += piece.text;
    }
    signal.throwIfAborted();
    frontend.emit({ type: 'aside.answered', id, text });
  } catch (error) {
    signal.throwIfAborted();
    if (!isModelError(error)) throw error;
    frontend.emit({ type: 'aside.answered', id, text: '', error: error.message });
  }
}
