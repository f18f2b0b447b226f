import type * as z from 'zod/mini';
import { say } from '../../../base/say.ts';
import type { SessionEvent } from '../../../session/events.ts';
import type { Intent } from '../../../session/intents.ts';
import type { Content, TurnId } from '../../../session/model.ts';
import { Approvals, type Decision } from '../approvals.ts';
import { errorText, Incoming, Outgoing, readRequest } from '../control.ts';
import { isRecord } from '../detect.ts';
import { EditorTools } from '../editorTools.ts';
import type { AgentMessage, Talk, TalkSetup } from '../talk.ts';
import { canUseTool } from '../toolRequest.ts';
import { Turns } from '../turns.ts';
import { Choices } from './choices.ts';
import { deltaIn } from './deltas.ts';
import { initializeRequest } from './initialize.ts';
import { Introduction } from './introduction.ts';
import { promptOf, userContent } from './prompt.ts';
import { resultEvents } from './results.ts';
import * as schema from './schema.ts';
import { Silence } from './silence.ts';
import { systemEffects } from './system.ts';
import { contextTokens, Transcript } from './transcript.ts';
import { turnEnd, usageOf } from './turnEnd.ts';

/** Milliseconds (qwen.md §3.2, §4.7). */
const FIRST_REPLY = 60_000;
const PROBE_LIMIT = 10_000;
const STOP_LIMIT = 5_000;
/** A second Stop this long after the first one means it. */
const SECOND_STOP = 1_000;

/** The message dialect: what Qwen Code ships and Claude Code speaks (qwen.md §3, §12). */
export class MessageTalk implements Talk {
  readonly #setup: TalkSetup;
  readonly #emit: (event: SessionEvent) => void;
  readonly #turns: Turns;
  readonly #transcript: Transcript;
  readonly #incoming: Incoming;
  readonly #outgoing: Outgoing;
  readonly #approvals: Approvals;
  readonly #choices: Choices;
  readonly #introduction: Introduction;
  readonly #tools: EditorTools;
  readonly #silence: Silence;
  readonly #rows: Readonly<Record<string, (message: AgentMessage) => void>>;
  readonly #unknown = new Set<string>();
  #session = '';
  /** The agent has written something in this turn. */
  #spoke = false;
  /** The person said stop; `again` once saying it again means more than a double click. */
  #stop: { again: boolean; readonly timers: readonly NodeJS.Timeout[] } | undefined;

  constructor(setup: TalkSetup) {
    this.#setup = setup;
    const { scene, emit, write, peer, cwd } = setup;
    this.#emit = emit;
    this.#turns = new Turns(emit, scene);
    this.#transcript = new Transcript(
      () => cwd,
      () => this.#turns.newPart(),
    );
    this.#incoming = new Incoming(write);
    this.#outgoing = new Outgoing(write, scene.newId);
    this.#tools = new EditorTools(scene.ports.tools, scene.client, scene.log, peer.toolLimit);
    this.#choices = new Choices({ emit, newId: scene.newId, peer, outgoing: this.#outgoing, turns: this.#turns });
    this.#introduction = new Introduction({ emit, peer, outgoing: this.#outgoing, tools: this.#tools, choices: this.#choices });
    this.#approvals = new Approvals({
      scene,
      emit,
      incoming: this.#incoming,
      turns: this.#turns,
      calls: this.#transcript,
      reply: permissionReply,
      peer,
      cwd: () => cwd,
      setMode: (mode) => this.#choices.setMode(mode),
    });
    this.#silence = new Silence({
      turns: this.#turns,
      excused: () => this.#approvals.waiting || this.#tools.busy,
      running: () => this.#running(),
      probe: async () => {
        const reply = await this.#outgoing.ask({ subtype: 'supported_commands' }, PROBE_LIMIT);
        return reply.ok || !reply.message.startsWith('No answer');
      },
      onDead: () => this.#dead(),
    });
    const streamRow = this.#row(schema.streamLine, (line) => this.#stream(line));
    this.#rows = {
      system: this.#row(schema.systemLine, (line) => this.#system(line)),
      stream_event: (message) => {
        const delta = deltaIn(message);
        if (delta) this.#stream(delta);
        else streamRow(message);
      },
      assistant: this.#row(schema.assistantLine, (line) => this.#assistant(line)),
      user: this.#row(schema.userLine, (line) => this.#user(line)),
      result: this.#row(schema.resultLine, (line) => this.#result(line)),
      control_request: (message) => this.#request(message),
      control_response: (message) => void this.#outgoing.take(message),
      control_cancel_request: (message) => this.#approvals.withdraw(String(message.request_id)),
      conversation_reset: () => this.#turns.note('info', say('The conversation starts over; what was said before is forgotten.')),
    };
  }

  start(sent: boolean): void {
    const { initId, write } = this.#setup;
    void this.#outgoing
      .expect(initId, FIRST_REPLY, () => {
        if (!sent) write(initializeRequest(this.#setup, this.#tools.offered));
      })
      .then((reply) => {
        if (reply.ok) this.#initialized(reply.payload);
        else this.#setup.giveUp(say('{0} did not get ready: {1}', this.#setup.peer.name, reply.message), { again: false });
      });
  }

  take(message: AgentMessage): void {
    const { type, session_id: session } = message;
    if (type !== 'control_response') this.#silence.heard();
    if (typeof session === 'string' && session !== '' && session !== this.#session && type !== 'conversation_reset') this.#moveTo(session);
    const row = typeof type === 'string' && Object.hasOwn(this.#rows, type) ? this.#rows[type] : undefined;
    if (row) return row(message);
    const name = String(type);
    if (this.#unknown.has(name) || this.#unknown.size > 100) return;
    this.#unknown.add(name);
    this.#setup.scene.log.info(`The agent sends lines of an unknown type "${name.slice(0, 100)}"; they are ignored`);
  }

  send(intent: Intent): void {
    switch (intent.type) {
      case 'prompt':
        return this.#prompt(intent.turnId, intent.content);
      case 'command':
        return this.#prompt(intent.turnId, [{ type: 'text', text: `/${[...intent.path, intent.args].filter(Boolean).join(' ')}` }]);
      case 'cancel':
        return this.#cancel();
      case 'answer': {
        const { askId, answer } = intent;
        if (this.#choices.answer(askId, answer.kind === 'option' && answer.optionId === 'yes')) return;
        return void this.#approvals.answer(askId, answer);
      }
      case 'setMode':
        return this.#choices.chooseMode(intent.modeId);
      case 'setOption':
        return this.#choices.choose(intent.optionId, intent.value);
      case 'steer':
      case 'unqueue':
        return;
    }
  }

  leave(): void {
    if (this.#turns.running) void this.#outgoing.ask({ subtype: 'interrupt' });
    this.#approvals.cancelAll('The conversation was ended.');
  }

  end(why: string): void {
    this.#approvals.cancelAll(why);
    this.#choices.end();
    this.#silence.stop();
    this.#tools.cancel();
    this.#outgoing.end();
    for (const timer of this.#stop?.timers ?? []) clearTimeout(timer);
    this.#transcript.endTurn();
    this.#turns.end(this.#turns.running?.stopping ? 'cancelled' : 'failed', { error: { message: why, next: ['retry'] } });
  }

  /** A handler that only sees lines of the right shape; others are logged and dropped. */
  #row<T extends z.ZodMiniType>(shape: T, handle: (line: z.infer<T>) => void): (message: AgentMessage) => void {
    return (message) => {
      const parsed = shape.safeParse(message);
      if (parsed.success) return handle(parsed.data);
      const issue = parsed.error.issues[0];
      this.#setup.scene.log.warn(`A ${String(message.type)} line was dropped: ${issue?.path.join('.')} ${issue?.message}`);
    };
  }

  #all(events: readonly SessionEvent[]): void {
    for (const event of events) this.#emit(event);
  }

  #initialized(payload: unknown): void {
    const session = isRecord(payload) ? payload.session_id : undefined;
    if (typeof session === 'string' && session !== '') this.#moveTo(session);
    this.#introduction.begin(payload);
    this.#setup.onReady();
  }

  #moveTo(session: string): void {
    const moved = this.#session !== '';
    this.#session = session;
    this.#setup.onSession(session);
    if (moved && !this.#setup.peer.onlyMessages) {
      this.#turns.note('info', say('The conversation starts over; what was said before is forgotten.'));
    }
  }

  #prompt(turnId: TurnId, content: readonly Content[]): void {
    const { peer, cwd, write } = this.#setup;
    const prompt = promptOf(content, cwd, peer.takesImages);
    this.#turns.begin(turnId, content);
    this.#spoke = false;
    if (prompt.left.length > 0) this.#turns.note('warn', say('{0} cannot take: {1}.', peer.name, prompt.left.join(', ')));
    if (prompt.text === '' && prompt.images.length === 0) {
      return this.#turns.end('failed', { error: { message: say('There was nothing in the prompt that the agent can take.') } });
    }
    if (!this.#introduction.knows(prompt.text))
      this.#turns.note('info', say('No command of the agent has this name; it was sent as text.'));
    this.#silence.begin();
    write({ type: 'user', session_id: this.#session, parent_tool_use_id: null, message: { role: 'user', content: userContent(prompt) } });
  }

  /** The turn a line belongs to; the agent may begin one itself. */
  #turn(): TurnId {
    if (!this.#turns.running) {
      this.#spoke = false;
      this.#turns.needed();
      this.#silence.begin();
    }
    return this.#turns.needed().id;
  }

  #system(line: schema.SystemLine): void {
    const effects = systemEffects(line);
    this.#introduction.hear(effects);
    if (effects.activity !== undefined) this.#turns.activity(effects.activity);
    for (const note of effects.notes) this.#turns.note(note.level, note.text, note.parent);
  }

  #stream(line: schema.StreamLine): void {
    const { event } = line;
    if (event.type === 'tool_progress' && event.tool_use_id) return this.#progress(event.tool_use_id);
    if (event.type.startsWith('content_block') || event.type === 'message_start') {
      this.#spoke = true;
      this.#all(this.#transcript.stream(line, this.#turn()));
    }
  }

  #progress(callId: string): void {
    const turn = this.#turns.running;
    if (!turn || this.#transcript.call(callId)?.status === 'running') return;
    this.#transcript.setStatus(callId, 'running');
    this.#emit({ type: 'call.changed', turnId: turn.id, callId, change: { status: 'running' } });
  }

  #assistant(line: schema.AssistantLine): void {
    const turnId = this.#turn();
    this.#spoke = true;
    this.#all(this.#transcript.assistant(line, turnId));
    for (const block of line.message.content) {
      const call = block.type === 'tool_use' && block.id ? this.#transcript.call(block.id) : undefined;
      if (!call || !block.id) continue;
      this.#approvals.watch(block.id, call.use);
      // Those that may yet need a person's yes wait for it or for their result.
      if (!['edit', 'execute', 'think'].includes(call.use.kind) && call.use.work !== 'ask') this.#progress(block.id);
    }
    const used = line.parent_tool_use_id ? undefined : contextTokens(line.message.usage);
    if (used !== undefined) this.#emit({ type: 'usage.set', usage: { used } });
  }

  #user(line: schema.UserLine): void {
    const { content } = line.message;
    if (line.parent_tool_use_id && (typeof content === 'string' || content.some((block) => block.type === 'text'))) {
      return this.#all(this.#transcript.prompt(line, this.#turn()));
    }
    if (typeof content === 'string') return this.#remark(content);
    for (const block of content) {
      if (block.type === 'text') this.#remark(block.text ?? '');
      if (block.type === 'tool_result' && block.tool_use_id) this.#settle(block.tool_use_id, block, line);
    }
  }

  /** A line the agent wrote to itself in the person's name. */
  #remark(text: string): void {
    const plain = text.replaceAll(/<\/?[a-z-]+>/g, '').trim();
    if (plain !== '' && !plain.startsWith('[Request interrupted')) this.#turns.note('info', plain.slice(0, 4000));
  }

  #settle(callId: string, block: schema.Block, line: schema.UserLine): void {
    const turn = this.#turns.running;
    const applied = this.#approvals.appliedInstead(callId);
    const how = {
      use: this.#transcript.call(callId)?.use,
      before: this.#approvals.before(callId),
      refused: this.#approvals.wasRefused(callId),
      stopping: turn?.stopping ?? false,
      ...(applied === undefined ? {} : { applied }),
    };
    this.#approvals.settleCall(callId);
    this.#transcript.setStatus(callId, block.is_error ? 'failed' : 'done');
    if (turn) this.#all(resultEvents(block, line, turn.id, how, this.#setup.cwd));
  }

  #result(line: schema.ResultLine): void {
    const turn = this.#turns.running;
    if (!turn) {
      if (!this.#introduction.ready)
        return this.#setup.giveUp(errorText(line.error), { again: false, next: ['openSettings', 'showLog', 'restart'] });
      return this.#setup.scene.log.info('A result came while no turn was running');
    }
    const subAgent = this.#transcript.openCalls.find(([, call]) => call.use.work === 'agent' && call.parent === undefined);
    if (subAgent && line.is_error && line.duration_ms === 0 && line.num_turns === 0) {
      // A sub-agent that failed says so as if the turn were over (qwen.md §3.7).
      return this.#turns.note('warn', errorText(line.error), subAgent[0]);
    }
    if (!this.#spoke && line.result) {
      this.#emit({ type: 'text.grew', turnId: turn.id, kind: 'text', partId: this.#turns.newPart(), text: line.result });
    }
    const denied = (line.permission_denials ?? []).filter((one) => one.tool_use_id && !this.#approvals.wasRefused(one.tool_use_id));
    const names = new Set(denied.flatMap((one) => (one.tool_name ? [one.tool_name] : [])));
    if (names.size > 0)
      this.#turns.note('info', say('Refused without asking, by the mode or rules of the agent: {0}', [...names].join(', ')));
    this.#emit({ type: 'usage.set', usage: usageOf(line) });
    this.#endTurn();
    const { status, ...more } = turnEnd(line, turn.stopping);
    this.#turns.end(status, more);
    void this.#introduction.askContext();
  }

  /** Nothing of the turn is waited for any more. */
  #endTurn(): void {
    this.#silence.stop();
    for (const timer of this.#stop?.timers ?? []) clearTimeout(timer);
    this.#stop = undefined;
    this.#approvals.cancelAll('The turn is over.');
    this.#approvals.forget();
    this.#transcript.endTurn();
  }

  #cancel(): void {
    const turn = this.#turns.running;
    if (!turn) return;
    if (this.#stop) {
      if (this.#stop.again) this.#setup.giveUp(say('The agent did not stop and was ended.'), { again: true });
      return;
    }
    turn.stopping = true;
    const stop = { again: false, timers: [setTimeout(() => (stop.again = true), SECOND_STOP)] };
    stop.timers.push(setTimeout(() => this.#turns.activity(say('The agent does not stop. Stop again to start it anew.')), STOP_LIMIT));
    this.#stop = stop;
    void this.#outgoing.ask({ subtype: 'interrupt' });
    this.#approvals.cancelAll('The person stopped the turn.');
    this.#tools.cancel();
  }

  #running(): 'tool' | 'subAgent' | undefined {
    const open = this.#transcript.openCalls;
    if (open.length === 0) return undefined;
    return open.some(([, call]) => call.parent !== undefined) ? 'subAgent' : 'tool';
  }

  #dead(): void {
    this.#emit({ type: 'notice', notice: { level: 'warn', text: say('The agent does not answer any more.'), next: ['restart'] } });
  }

  #request(message: AgentMessage): void {
    const request = readRequest(message);
    if (!request || !this.#incoming.begin(request.id)) return;
    const { id, subtype, payload } = request;
    if (subtype === 'can_use_tool') {
      const parsed = canUseTool.safeParse(payload);
      return parsed.success ? this.#approvals.open(id, parsed.data) : this.#fail(id, 'The request could not be read.');
    }
    if (subtype === 'mcp_message') {
      if (payload.server_name !== this.#setup.peer.server)
        return this.#fail(id, `There is no server "${String(payload.server_name)}" here.`);
      void this.#tools.answer(payload.message).then((answer) => this.#succeed(id, { mcp_response: answer }));
      return;
    }
    if (subtype === 'hook_callback') return this.#succeed(id, {});
    this.#fail(id, `unsupported control request ${subtype}`);
  }

  #succeed(id: string, response: unknown): void {
    this.#incoming.answer(id, { type: 'control_response', response: { subtype: 'success', request_id: id, response } });
  }

  #fail(id: string, message: string): void {
    const error = this.#setup.peer.onlyMessages ? message : { message, retryable: false };
    this.#incoming.answer(id, { type: 'control_response', response: { subtype: 'error', request_id: id, error } });
  }
}

/** The verbs are exact, and the id stands inside (qwen.md §3.3). */
function permissionReply(id: string, decision: Decision): object {
  const response = decision.allow
    ? {
        behavior: 'allow',
        updatedInput: decision.input,
        ...(decision.permissions.length > 0 ? { updatedPermissions: decision.permissions } : {}),
      }
    : { behavior: 'deny', message: decision.message };
  return { type: 'control_response', response: { subtype: 'success', request_id: id, response } };
}
