import { t } from '../../../base/l10n.ts';
import type { SessionEvent } from '../../../session/events.ts';
import type { Offers } from '../../../session/model.ts';
import type { Outgoing } from '../control.ts';
import type { EditorTools } from '../editorTools.ts';
import type { Peer } from '../peers.ts';
import type { Choices } from './choices.ts';
import { Commands } from './commands.ts';
import * as schema from './schema.ts';
import type { SystemEffects } from './system.ts';
import { USAGE } from './usageReport.ts';

export interface IntroductionDeps {
  readonly emit: (event: SessionEvent) => void;
  readonly peer: Peer;
  readonly outgoing: Outgoing;
  readonly tools: EditorTools;
  readonly choices: Choices;
  readonly keeps: Pick<Offers, 'history' | 'fork' | 'edit'>;
  /** The mode the agent was started in, when that is known. */
  readonly mode: string | undefined;
}

/** What the agent says about itself: version, commands, models, modes. Some comes with `initialize`, some again with every turn. */
export class Introduction {
  readonly #deps: IntroductionDeps;
  readonly #commands = new Commands();
  #ready = false;
  #version: string | undefined;
  #hasContextUsage = false;
  #hasUsage = false;

  constructor(deps: IntroductionDeps) {
    this.#deps = deps;
  }

  get ready(): boolean {
    return this.#ready;
  }

  /** False for a text that begins with a command nobody has announced. */
  knows(text: string): boolean {
    return this.#commands.knows(text);
  }

  /** The agent can be asked what has been used, and has no command of its own for it. */
  get reportsUsage(): boolean {
    return this.#hasUsage;
  }

  /** The reply to `initialize`. */
  begin(payload: unknown): void {
    const parsed = schema.initialized.safeParse(payload);
    const known = parsed.success ? parsed.data : {};
    const { choices } = this.#deps;
    this.#ready = true;
    this.#version = known.claude_code_version ?? undefined;
    if (known.commands && this.#commands.addDescribed(known.commands)) this.#showCommands();
    this.#say();
    if (known.current_permission_mode) choices.modeIs(known.current_permission_mode);
    const [first] = known.models ?? [];
    if (known.models && first) {
      choices.modelsAre(
        known.models.map(({ value, displayName, description }) => ({
          value,
          name: displayName ?? value,
          ...(description ? { description } : {}),
        })),
      );
      choices.modelIs(first.value);
    }
    this.#useCapabilities(payload);
  }

  /** The facts of a `system` line. */
  hear(facts: SystemEffects): void {
    const { version, commands, mode, model } = facts;
    if (version !== undefined && version !== this.#version) {
      this.#version = version;
      if (this.#ready) this.#say();
    }
    if (commands && this.#commands.addNames(commands)) this.#showCommands();
    if (mode !== undefined) this.#deps.choices.modeIs(mode);
    // Claude Code names its choices otherwise than the model behind them.
    if (model !== undefined && !this.#deps.peer.onlyMessages) this.#deps.choices.modelIs(model);
  }

  /** Asks how large the context is, where that can be asked. */
  async askContext(): Promise<void> {
    if (!this.#hasContextUsage) return;
    const reply = await this.#deps.outgoing.ask({ subtype: 'get_context_usage' });
    const parsed = schema.contextUsage.safeParse(reply.ok ? reply.payload : undefined);
    const size = parsed.success ? (parsed.data.contextWindowSize ?? parsed.data.maxTokens) : undefined;
    if (size) this.#deps.emit({ type: 'usage.set', usage: { size } });
  }

  /** Qwen Code says what else may be asked of it. */
  #useCapabilities(payload: unknown): void {
    const can = schema.capabilities.safeParse(payload);
    if (!can.success || !can.data.capabilities) return;
    const {
      can_get_available_models: models,
      can_set_effort: effort,
      can_set_permission_mode: modes,
      can_get_context_usage: context,
      can_get_usage_info: usage,
    } = can.data.capabilities;
    const { choices, outgoing, mode } = this.#deps;
    this.#hasContextUsage = context === true;
    // Its own word about its mode comes with the first turn; what mode that turn is in can be chosen before it.
    if (modes && mode !== undefined) choices.startedIn(mode);
    if (effort) choices.effortExists();
    if (models) void choices.loadModels();
    void outgoing.ask({ subtype: 'supported_commands' }).then((reply) => {
      const names = schema.commandNames.safeParse(reply.ok ? reply.payload : undefined);
      const news = names.success && this.#commands.addNames(names.data.commands);
      this.#hasUsage = usage === true && this.#commands.knows(`/${USAGE}`) === false;
      const ours = { name: USAGE, description: t('Show what this agent has used'), argumentHint: '[today|week|month|all]' };
      const added = this.#hasUsage && this.#commands.addDescribed([ours]);
      if (news || added) this.#showCommands();
    });
  }

  /** The link is ready; said again when the version becomes known. */
  #say(): void {
    const { emit, peer, tools, keeps } = this.#deps;
    emit({
      type: 'link.ready',
      agent: { protocol: 'qwen', name: peer.name, ...(this.#version === undefined ? {} : { version: this.#version }) },
      offers: {
        feedback: true,
        editableApprovals: true,
        ...keeps,
        ...(peer.takesImages ? { images: true } : {}),
        ...(tools.offered ? { tools: tools.offer } : {}),
      },
    });
  }

  #showCommands(): void {
    this.#deps.emit({ type: 'commands.set', commands: this.#commands.all });
  }
}
