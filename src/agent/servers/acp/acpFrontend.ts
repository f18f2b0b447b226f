import { messageOf } from '../../../base/log.ts';
import {
  announcedCall,
  changedCall,
  type PermissionParams,
  readPermissionReply,
  terminalItemOf,
  textItem,
  textUpdate,
  type WrittenUpdate,
} from '../../../protocols/acp/codec.ts';
import {
  type AgentEvent,
  AnsweredElsewhere,
  type ApprovalRequest,
  type Frontend,
  type PermissionAnswer,
  type QuestionRequest,
} from '../../frontend.ts';
import type { ModelTool } from '../../models/model.ts';
import type { CommandEnd, CommandSpec } from '../../tools/runCommand.ts';
import { outcomeText, Rejected, type ToolOutcome, toldFailure } from '../../tools/tool.ts';
import type { TextFiles } from '../../workspace/textFiles.ts';
import { clientFiles, runInClient, type SessionClient } from './client.ts';
import { contentOf, diffLocations, inputOf, kindOf, planOf, startedCall, titleOf } from './words.ts';

/** The protocol, as the loop sees it. */
export class AcpFrontend implements Frontend {
  readonly asksQuestions = true;
  readonly hasPlanMode = true;
  readonly #client: SessionClient;
  /** Calls that were told of and have not ended. */
  readonly #open = new Map<string, 'began' | 'ready' | 'runs'>();
  /** Terminals of commands, by call; they stay in the call when it has ended. */
  readonly #terminals = new Map<string, string>();
  /** Tools of tool servers that may run without asking again. */
  readonly #allowed = new Set<string>();
  #compactions = 0;

  constructor(client: SessionClient) {
    this.#client = client;
  }

  /** Commands run in the client's terminals where it has some. */
  get runCommand(): ((spec: CommandSpec, callId: string, onText: (text: string) => void) => Promise<CommandEnd>) | undefined {
    return this.#client.can.terminals ? (spec, callId, onText) => this.#runCommand(spec, callId, onText) : undefined;
  }

  files(signal: AbortSignal): TextFiles {
    return clientFiles((method, params) => this.#client.ask(method, params, signal), this.#client.can);
  }

  clientTools(): readonly ModelTool[] {
    return this.#client.servers.offers;
  }

  /** The client does not see what a tool server is asked to do, so the user is asked here, unless the tool declares that it only reads. */
  async callClient({ id, name, input }: Parameters<Frontend['callClient']>[0], signal: AbortSignal): Promise<ToolOutcome> {
    const { servers } = this.#client;
    if (servers.changes(name) && !this.#allowed.has(name)) {
      const shown = [{ type: 'brief' as const, text: input }];
      const answer = await this.approve({ callId: id, tool: name, action: name, description: name, shown }, signal);
      if (!answer.allow) throw new Rejected();
      if (answer.forSession) this.#allowed.add(name);
    }
    return servers.call(name, input, signal);
  }

  async hook(): Promise<string | undefined> {
    return undefined;
  }

  emit(said: AgentEvent): void {
    for (const update of this.#updates(said)) this.#client.update(update);
  }

  async approve(request: ApprovalRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    const { callId, tool, description, shown } = request;
    const command = shown.find((one) => one.type === 'command');
    const content = contentOf(shown);
    const locations = diffLocations(shown);
    const toolCall = {
      toolCallId: callId,
      title: description,
      kind: kindOf(tool),
      status: 'pending',
      ...(content.length > 0 ? { content } : {}),
      ...(locations.length > 0 ? { locations } : {}),
      ...(command?.type === 'command' ? { rawInput: { command: command.command } } : {}),
    };
    const options = [
      { optionId: 'once', name: 'Allow', kind: 'allow_once' },
      {
        optionId: 'session',
        name: command?.type === 'command' ? 'Allow this command for this session' : `Allow "${request.action}" for this session`,
        kind: 'allow_always',
      },
      { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
    ];
    try {
      const answer = await this.#permission({ toolCall, options }, signal);
      const chosen = optionOf(answer);
      if (chosen === 'once' || chosen === 'session') return { allow: true, forSession: chosen === 'session' };
      if (chosen === 'reject' || answer === 'cancelled') return { allow: false };
      throw new Error('The answer selects none of the options.');
    } catch (error) {
      if (signal.reason instanceof AnsweredElsewhere) return signal.reason.answer;
      signal.throwIfAborted();
      // The user has rejected nothing: the client failed.
      throw toldFailure(`The approval failed, so the call did not run: ${messageOf(error)}`, `审批失败，因此没有执行：${messageOf(error)}`);
    }
  }

  async question(request: QuestionRequest, signal: AbortSignal): Promise<Readonly<Record<string, string>> | undefined> {
    if (this.#client.can.forms) return this.#form(request, signal);
    const [only] = request.questions;
    if (!only || request.questions.length > 1) return undefined;
    const options = only.options.map((option, at) => ({ optionId: `answer-${at}`, name: option.label, kind: 'allow_once' }));
    options.push({ optionId: 'skip', name: 'Skip', kind: 'reject_once' });
    const toolCall = { toolCallId: request.callId, title: only.question };
    const chosen = optionOf(await this.#permission({ toolCall, options }, signal).catch(() => undefined));
    signal.throwIfAborted();
    const label = options.find((option) => option.optionId === chosen && chosen !== 'skip')?.name;
    return label === undefined ? undefined : { [only.question]: label };
  }

  async #permission(params: PermissionParams, signal: AbortSignal) {
    return readPermissionReply(await this.#client.ask('session/request_permission', params, signal));
  }

  async #form({ callId, questions }: QuestionRequest, signal: AbortSignal): Promise<Readonly<Record<string, string>> | undefined> {
    const properties: Record<string, object> = {};
    questions.forEach((one, at) => {
      const choices = one.options.map(({ label, description }) => ({
        const: label,
        title: label,
        ...(description ? { description } : {}),
      }));
      const head = { title: one.question, ...(one.body ? { description: one.body } : {}) };
      properties[`q${at}`] = one.many ? { type: 'array', ...head, items: { anyOf: choices } } : { type: 'string', ...head, oneOf: choices };
      if (!one.many) properties[`q${at}_custom`] = { type: 'string', title: 'Other' };
    });
    const params = {
      mode: 'form',
      message: questions[0]?.header ?? questions[0]?.question ?? '',
      toolCallId: callId,
      requestedSchema: { type: 'object', properties },
    };
    const answer = (await this.#client.ask('elicitation/create', params, signal).catch(() => undefined)) as FormAnswer | undefined;
    signal.throwIfAborted();
    if (answer?.action !== 'accept') return undefined;
    const given = questions.flatMap((one, at) => {
      const value = answer.content?.[`q${at}_custom`] ?? answer.content?.[`q${at}`];
      return value === undefined ? [] : [[one.question, [value].flat().join(', ')] as const];
    });
    return given.length > 0 ? Object.fromEntries(given) : undefined;
  }

  /** In the client's terminal; a command that takes too long, or is not wanted any more, is killed there. */
  #runCommand(spec: CommandSpec, callId: string, onText: (text: string) => void): Promise<CommandEnd> {
    const client = this.#client;
    const onTerminal = (terminalId: string): void => {
      this.#terminals.set(callId, terminalId);
      client.update(changedCall({ toolCallId: callId, content: [terminalItemOf(terminalId)] }));
    };
    return runInClient((method, params) => client.ask(method, params), spec, onTerminal, onText);
  }

  #updates(said: AgentEvent): readonly WrittenUpdate[] {
    switch (said.type) {
      case 'text':
        return [textUpdate('agent_message_chunk', said.text)];
      case 'thought':
        return [textUpdate('agent_thought_chunk', said.text)];
      case 'call.started':
        this.#open.set(said.id, 'began');
        return [announcedCall({ toolCallId: said.id, title: titleOf(said.name, {}), kind: kindOf(said.name), status: 'pending' })];
      case 'call.ready':
        return [this.#ready(said)];
      case 'call.runs':
        if (this.#open.get(said.id) !== 'ready') return [];
        this.#open.set(said.id, 'runs');
        return [changedCall({ toolCallId: said.id, status: 'in_progress' })];
      case 'call.ended':
        return this.#ended(said);
      case 'status':
        return [{ sessionUpdate: 'usage_update', used: said.contextTokens, size: said.contextSize }];
      case 'planMode':
        return [{ sessionUpdate: 'current_mode_update', currentModeId: said.on ? 'plan' : 'default' }];
      case 'plan.shown':
        return [textUpdate('agent_message_chunk', said.text)];
      case 'steered':
        return [];
      case 'compaction.started':
      case 'compaction.ended':
        return this.#compaction(said.type === 'compaction.ended');
      case 'sub':
        return said.said.type.startsWith('call.') ? this.#updates(said.said) : [];
      case 'turn.ended':
        return this.#cutOff(() => true);
      case 'step.broken':
      case 'step.retry':
        return this.#cutOff((state) => state === 'began');
      case 'cut':
      case 'task.ended':
      case 'aside.asked':
      case 'aside.answered':
      case 'turn.started':
      case 'step.started':
      case 'call.delta':
      case 'call.output':
        return [];
    }
  }

  #ready({ id, name, input }: Extract<AgentEvent, { type: 'call.ready' }>): WrittenUpdate {
    const known = this.#open.has(id);
    this.#open.set(id, 'ready');
    const call = startedCall({ id, name, rawInput: inputOf(input) }, this.#client.cwd);
    return known ? changedCall(call) : announcedCall(call);
  }

  /** Closes calls left open: cut off with their turn, or begun by an abandoned attempt of the model. */
  #cutOff(which: (state: 'began' | 'ready' | 'runs') => boolean): readonly WrittenUpdate[] {
    const ids = [...this.#open].flatMap(([id, state]) => (which(state) ? [id] : []));
    for (const id of ids) this.#open.delete(id);
    return ids.map((toolCallId) => changedCall({ toolCallId, status: 'failed' }));
  }

  #ended({ id, outcome }: Extract<AgentEvent, { type: 'call.ended' }>): readonly WrittenUpdate[] {
    this.#open.delete(id);
    const terminalId = this.#terminals.get(id);
    const shown = contentOf(outcome.shown);
    const text = outcomeText(outcome, '\n');
    const content = [...(terminalId === undefined ? [] : [terminalItemOf(terminalId)]), ...shown];
    if (content.length === 0 && text) content.push(textItem(text));
    const plan = planOf(outcome.shown);
    const locations = diffLocations(outcome.shown);
    return [
      changedCall({
        toolCallId: id,
        status: outcome.isError ? 'failed' : 'completed',
        content,
        ...(locations.length > 0 ? { locations } : {}),
      }),
      ...(plan ? [plan] : []),
    ];
  }

  #compaction(ended: boolean): readonly WrittenUpdate[] {
    if (!this.#client.can.compactions) return [];
    if (!ended) this.#compactions += 1;
    const compactionId = `compaction-${this.#compactions}`;
    return [{ sessionUpdate: 'compaction_update', compactionId, status: ended ? 'completed' : 'in_progress' }];
  }
}

interface FormAnswer {
  readonly action?: string;
  readonly content?: Readonly<Record<string, string | readonly string[]>>;
}

function optionOf(answer: ReturnType<typeof readPermissionReply>): string | undefined {
  return typeof answer === 'object' ? answer.optionId : undefined;
}
