import type { CallWatch } from './calls.ts';
import { type Commands, commandIn, commandsOf, type Subject } from './commands.ts';
import { compact } from './compaction.ts';
import type { Face } from './face.ts';
import { History } from './history.ts';
import type { Model, ToolOffer, UserPart } from './models/model.ts';
import { textOf } from './models/model.ts';
import { Permissions } from './permissions.ts';
import { systemPrompt } from './systemPrompt.ts';
import { builtInTools } from './tools/builtIn.ts';
import { clientTool } from './tools/clientTool.ts';
import type { Tool } from './tools/tool.ts';
import { runTurn, type TurnEnd, type TurnScene } from './turn.ts';
import type { Workspace } from './workspace/paths.ts';

export interface ConversationOptions {
  readonly face: Face;
  readonly model: Model;
  readonly workspace: Workspace;
  readonly history?: History;
  readonly maxSteps?: number;
  readonly maxAttempts?: number;
}

/** One conversation: its history, what it may do, and at most one turn at a time. Knows no protocol; a face drives it. */
export class Conversation implements Subject {
  readonly history: History;
  readonly permissions = new Permissions();
  readonly commands: Commands;
  readonly #options: ConversationOptions;
  #running: AbortController | undefined;
  #steers: (readonly UserPart[])[] = [];

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.history = options.history ?? new History();
    this.commands = commandsOf();
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

  /** Runs one turn to its end. Throws ModelError, or `Cancelled` when `cancel` was called. */
  async prompt(input: readonly UserPart[]): Promise<TurnEnd> {
    if (this.#running) throw new Error('a turn is in progress');
    const running = new AbortController();
    this.#running = running;
    const { face } = this.#options;
    face.say({ type: 'turn.began', input });
    try {
      return await this.#run(input, running.signal);
    } catch (error) {
      if (running.signal.aborted) throw new Cancelled();
      throw error;
    } finally {
      face.say({ type: 'turn.ended' });
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

  clear(): void {
    this.history.replace([]);
    this.#options.face.say({ type: 'status', contextTokens: 0, contextSize: this.model.contextSize });
  }

  async #run(input: readonly UserPart[], signal: AbortSignal): Promise<TurnEnd> {
    const command = commandIn(textOf(input));
    if (!command) return runTurn(this.#scene(signal), input);
    const { face } = this.#options;
    const found = this.commands.find(command.name);
    if (!found) {
      face.say({ type: 'text', text: `Unknown slash command "/${command.name}". \`/help\` lists what there is.` });
      return { status: 'finished' };
    }
    const next = await found.run({
      args: command.args,
      conversation: this,
      say: (text) => face.say({ type: 'text', text }),
      compact: (hint) => compact(this.#scene(signal), hint),
    });
    return next === undefined ? { status: 'finished' } : runTurn(this.#scene(signal), [{ type: 'text', text: next }]);
  }

  #scene(signal: AbortSignal): TurnScene {
    const { face, model, workspace, maxSteps = 100, maxAttempts = 4 } = this.#options;
    return {
      face,
      model,
      workspace,
      signal,
      maxSteps,
      maxAttempts,
      history: this.history,
      system: () => systemPrompt(workspace),
      offers: () => this.#tools(),
      findTool: (name) => this.#tools().find((tool) => tool.name === name),
      toolNames: () => this.#tools().map((tool) => tool.name),
      permit: (request, until) => this.permissions.ask(face, request, until),
      watch: noWatch,
      takeSteers: () => this.#steers.splice(0),
      mayStop: async () => undefined,
    };
  }

  #tools(): readonly (Tool & ToolOffer)[] {
    const { face } = this.#options;
    return [...builtInTools, ...face.clientTools().map((offer) => clientTool(offer, face))];
  }
}

/** A turn ended because the person said stop. */
export class Cancelled extends Error {
  constructor() {
    super('cancelled');
  }
}

const noWatch: CallWatch = { before: async () => undefined, after: async () => {} };
