import { Background } from './background.ts';
import { asideCommand, askAside, type CommandSubject, type Commands, commandIn, commandsOf } from './commands.ts';
import type { Frontend } from './frontend.ts';
import { compact, History } from './history.ts';
import { findSkills, PLAN_RULES, type Skill, skillCommands, skillsText, systemPrompt } from './instructions.ts';
import { localize } from './locale.ts';
import { isModelError, type Model, textOf, type UserPart } from './models/model.ts';
import { Permissions } from './permissions.ts';
import type { SessionStore } from './sessionStore.ts';
import { type SharedContext, subagentsOf } from './subagents.ts';
import { toolbox } from './toolbox.ts';
import type { AgentTool } from './tools/tool.ts';
import type { Planning } from './tools/user.ts';
import { hookedCalls, runTurn, type TurnContext, type TurnResult } from './turn.ts';
import type { Workspace } from './workspace/paths.ts';

/** Options of the command line that hold for every conversation, over every protocol. */
export interface Preferences {
  /** Further folders of skills. */
  readonly skillsDirs?: readonly string[];
  /** Steps of one turn, and attempts at one step. */
  readonly maxSteps?: number | undefined;
  readonly maxAttempts?: number | undefined;
}

interface ConversationOptions extends Preferences {
  readonly frontend: Frontend;
  readonly model: Model;
  readonly workspace: Workspace;
  readonly store?: SessionStore;
  /** Nothing is asked for. */
  readonly allowAll?: boolean;
  /** Begins in plan mode. */
  readonly plan?: boolean;
  /** The client's current addition to the system prompt. */
  readonly instructions?: () => string;
}

/** Settings of one turn that override the conversation's. */
export interface TurnOverride {
  readonly model?: Model;
  /** Names of the tools that the turn may use; absent: all. */
  readonly mayUse?: (tool: string) => boolean;
}

const TITLE_LENGTH = 60;

/** One conversation: its history, what it may do, and at most one turn at a time. Knows no protocol; a frontend drives it. */
export class AgentConversation implements CommandSubject {
  readonly history: History;
  readonly permissions: Permissions;
  readonly #options: ConversationOptions;
  readonly #planning: Planning;
  readonly #background: Background | undefined;
  #running: AbortController | undefined;
  #steers: (readonly UserPart[])[] = [];
  #planMode: boolean;
  #titled: boolean;

  constructor(options: ConversationOptions) {
    const { store } = options;
    this.#options = options;
    this.#background = options.frontend.hasBackground ? new Background() : undefined;
    this.permissions = new Permissions(options.allowAll);
    this.history = new History(store?.readMessages() ?? [], (change) => store?.keep(change));
    const state = store?.readState();
    this.#planMode = options.plan || (state?.plan_mode ?? false);
    this.#titled = typeof state?.title === 'string';
    const conversation = this;
    this.#planning = {
      get on() {
        return conversation.planMode;
      },
      set: (on) => this.setPlanMode(on),
      keep: (text) => store?.writeText('plan.md', text) ?? '',
    };
  }

  get busy(): boolean {
    return this.#running !== undefined;
  }

  get model(): Model {
    return this.#options.model;
  }

  get workspace(): Workspace {
    return this.#options.workspace;
  }

  /** Read each time: skills come and go with the workspace's files. */
  get commands(): Commands {
    const aside = this.#options.frontend.hasAsides ? [asideCommand] : [];
    return commandsOf([...aside, ...skillCommands(this.#skills())], this.model);
  }

  get planMode(): boolean {
    return this.#planMode;
  }

  setPlanMode(on: boolean): void {
    if (on !== this.#planMode) this.#options.store?.writeState({ plan_mode: on });
    this.#planMode = on;
    this.#options.frontend.emit({ type: 'planMode', on });
  }

  /** Runs one turn to its end. Throws ModelError, or `Cancelled` when `cancel` was called. */
  async prompt(input: readonly UserPart[], override: TurnOverride = {}): Promise<TurnResult> {
    if (this.#running) throw new Error('a turn is in progress');
    const running = new AbortController();
    this.#running = running;
    const { frontend } = this.#options;
    this.#entitle(textOf(input));
    frontend.emit({ type: 'turn.started', input });
    try {
      return await this.#run(input, this.#context(running.signal, override));
    } catch (error) {
      if (running.signal.aborted) throw new Cancelled();
      if (isModelError(error) && error.kind === 'model_cannot') this.history.forgetMedia();
      await frontend.hook('StopFailure', '', { error: String(error) }, running.signal);
      throw error;
    } finally {
      frontend.emit({ type: 'turn.ended' });
      this.#running = undefined;
      this.#steers = [];
    }
  }

  /** False when nothing runs. */
  cancel(): boolean {
    this.#running?.abort(new Cancelled());
    return this.#running !== undefined;
  }

  /** Puts a text in after the present step. False when nothing runs. */
  steer(input: readonly UserPart[]): boolean {
    if (this.#running) this.#steers.push(input);
    return this.#running !== undefined;
  }

  /** Ends what runs in the background; settles when it is over. */
  async end(): Promise<void> {
    await this.#background?.end();
  }

  clear(): void {
    this.history.replace([]);
    this.#options.frontend.emit({ type: 'status', contextTokens: 0, contextSize: this.model.contextSize });
  }

  #skills(): readonly Skill[] {
    return findSkills(this.workspace.cwd, this.#options.skillsDirs);
  }

  #entitle(text: string): void {
    if (!this.#titled) this.#options.store?.writeState({ title: text.replace(/\s+/g, ' ').trim().slice(0, TITLE_LENGTH) });
    this.#titled = true;
  }

  async #run(input: readonly UserPart[], context: TurnContext): Promise<TurnResult> {
    const { frontend, signal } = context;
    const refused = await frontend.hook('UserPromptSubmit', '', { prompt: textOf(input) }, signal);
    signal.throwIfAborted();
    if (refused !== undefined) {
      frontend.emit({ type: 'text', text: localize(`The prompt was blocked by a hook: ${refused}`, `提示被钩子阻止：${refused}`) });
      return { status: 'finished' };
    }
    const command = commandIn(textOf(input));
    return command ? this.#runCommand(command, context) : runTurn(context, input);
  }

  async #runCommand(command: { readonly name: string; readonly args: string }, context: TurnContext): Promise<TurnResult> {
    const { frontend } = context;
    const found = this.commands.find(command.name);
    if (!found) {
      frontend.emit({
        type: 'text',
        text: localize(
          `Unknown slash command "/${command.name}". \`/help\` lists what there is.`,
          `未知的斜杠命令 "/${command.name}"。\`/help\` 会列出可用的命令。`,
        ),
      });
      return { status: 'finished' };
    }
    const next = await found.run({
      args: command.args,
      conversation: this,
      translate: (text) => frontend.emit({ type: 'text', text }),
      compact: (hint) => compact(context, hint),
      aside: (question) => askAside(context, question),
    });
    return next === undefined ? { status: 'finished' } : runTurn(context, [{ type: 'text', text: next }]);
  }

  #context(signal: AbortSignal, { model = this.model, mayUse = () => true }: TurnOverride): TurnContext {
    const { frontend, workspace, maxSteps = 100, maxAttempts = 4 } = this.#options;
    let asked = false;
    const common: SharedContext = {
      frontend,
      model,
      workspace,
      signal,
      maxSteps,
      maxAttempts,
      system: () =>
        systemPrompt(workspace, [skillsText(this.#skills()), this.planMode ? PLAN_RULES : '', this.#options.instructions?.() ?? '']),
      permit: (request, until) => this.permissions.ask(frontend, request, until),
      watch: hookedCalls(frontend, () => this.planMode),
    };
    const allowed = (all: readonly AgentTool[]) => all.filter(({ name }) => mayUse(name));
    const tools = (): readonly AgentTool[] =>
      allowed(toolbox(frontend, this.#planning, (all) => subagentsOf(common, allowed(all)), this.#background));
    return {
      ...common,
      history: this.history,
      offers: () => tools().filter((tool) => !this.planMode || tool.reads || tool.runsInClient === true),
      findTool: (name) => tools().find((tool) => tool.name === name),
      toolNames: () => tools().map((tool) => tool.name),
      takeSteers: () => this.#steers.splice(0),
      takeEndedTasks: () => this.#background?.takeEndedTasks() ?? [],
      mayStop: async () => {
        // Once a turn: a hook that always refuses would keep it going for ever.
        if (asked) return undefined;
        asked = true;
        return frontend.hook('Stop', '', {}, signal);
      },
    };
  }
}

/** A turn ended because the user said stop. */
export class Cancelled extends Error {
  constructor() {
    super('cancelled');
  }
}
