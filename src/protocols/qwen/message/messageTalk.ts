import { t } from '../../../base/l10n.ts';
import type { SessionEvent } from '../../../session/events.ts';
import type { Intent } from '../../../session/intents.ts';
import type { Content, Fault, Remedy, TurnId } from '../../../session/model.ts';
import { textOf } from '../content.ts';
import { errorText, Outgoing } from '../control.ts';
import { isRecord } from '../detect.ts';
import { Ground } from '../ground.ts';
import { isInterruption } from '../interruption.ts';
import type { AgentMessage, Talk, TalkSetup } from '../talk.ts';
import { YesNo } from '../yesNo.ts';
import { BackgroundAgents } from './backgroundAgents.ts';
import { CallEnds } from './callEnds.ts';
import { Choices } from './choices.ts';
import { clearsIn } from './commands.ts';
import { deltaIn } from './deltas.ts';
import { GoBack } from './goBack.ts';
import { offerToGoOn } from './goOn.ts';
import { initializeRequest } from './initialize.ts';
import { Introduction } from './introduction.ts';
import { OwnTurn } from './ownTurn.ts';
import { promptOf, userContent } from './prompt.ts';
import { Refusals } from './refusals.ts';
import { permissionReply, Requests } from './requests.ts';
import { rowFor } from './row.ts';
import * as schema from './schema.ts';
import { Silence } from './silence.ts';
import { Spent } from './spent.ts';
import { systemEffects } from './system.ts';
import { Tasks } from './tasks.ts';
import { contextTokens, Transcript } from './transcript.ts';
import { turnEnd, usageOf } from './turnEnd.ts';
import { rangeIn, usageText } from './usageReport.ts';

/** Milliseconds (qwen.md §3.2). */
const FIRST_REPLY = 60_000;
const PROBE_LIMIT = 10_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The message dialect: what Qwen Code ships and Claude Code speaks (qwen.md §3, §12). */
export class MessageTalk implements Talk {
  readonly #setup: TalkSetup;
  readonly #emit: (event: SessionEvent) => void;
  readonly #ground: Ground<Transcript>;
  readonly #outgoing: Outgoing;
  readonly #choices: Choices;
  readonly #introduction: Introduction;
  readonly #requests: Requests;
  readonly #goBack: GoBack;
  readonly #yesNo: YesNo;
  readonly #silence: Silence;
  readonly #ownTurn: OwnTurn;
  readonly #rows: Readonly<Record<string, (message: AgentMessage) => void>>;
  readonly #unknown = new Set<string>();
  readonly #tasks = new Tasks();
  readonly #background: BackgroundAgents;
  readonly #ends: CallEnds;
  readonly #refusals: Refusals;
  readonly #spent = new Spent();
  #session = '';
  /** The agent has written something in this turn. */
  #spoke = false;
  /** What the running turn was begun with; empty for one the agent began. */
  #prompted = '';
  /** With the end of the running turn the view is cleared. */
  #clears = false;

  constructor(setup: TalkSetup) {
    this.#setup = setup;
    const { scene, emit, write, peer, cwd } = setup;
    this.#emit = emit;
    this.#outgoing = new Outgoing(write, scene.newId);
    this.#ground = new Ground(setup, {
      calls: (turns) =>
        new Transcript(
          () => cwd,
          () => turns.newPart(),
        ),
      reply: permissionReply,
      peer,
      setMode: (mode) => this.#choices.chooseMode(mode),
    });
    const { turns, tools } = this.#ground;
    this.#choices = new Choices({ emit, newId: scene.newId, peer, outgoing: this.#outgoing, turns });
    this.#introduction = new Introduction({ ...setup, outgoing: this.#outgoing, tools, choices: this.#choices });
    this.#yesNo = new YesNo(emit, scene.newId);
    const known = (callId: string) => this.#ground.calls.call(callId) !== undefined;
    this.#refusals = new Refusals({ turns, known, resumed: setup.resume !== undefined });
    this.#background = new BackgroundAgents({
      emit,
      calls: this.#ground.calls,
      newPart: () => turns.newPart(),
      settled: (callId) => this.#ground.approvals.settleCall(callId),
    });
    this.#ends = new CallEnds({ ...this.#ground, emit, refusals: this.#refusals, background: this.#background, cwd });
    this.#goBack = new GoBack({ emit, newId: scene.newId, outgoing: this.#outgoing, turns, cwd });
    this.#requests = new Requests({ ...this.#ground, peer, log: scene.log });
    this.#ownTurn = new OwnTurn(turns, (status) => this.#finish(status));
    this.#silence = new Silence({
      turns,
      excused: () => this.#ground.approvals.waiting || tools.busy,
      running: () => this.#ground.calls.running,
      probe: async () => {
        const reply = await this.#outgoing.ask({ subtype: 'supported_commands' }, PROBE_LIMIT);
        return reply.ok || !reply.message.startsWith('No answer');
      },
      emit,
    });
    const streamRow = rowFor(scene.log, schema.streamLine, (line) => this.#stream(line));
    this.#rows = {
      system: rowFor(scene.log, schema.systemLine, (line) => this.#system(line)),
      stream_event: (message) => {
        const delta = deltaIn(message);
        if (delta) this.#stream(delta);
        else streamRow(message);
      },
      assistant: rowFor(scene.log, schema.assistantLine, (line) => this.#assistant(line)),
      user: rowFor(scene.log, schema.userLine, (line) => this.#user(line)),
      result: rowFor(scene.log, schema.resultLine, (line) => this.#result(line)),
      control_request: (message) => this.#requests.take(message),
      control_response: (message) => void this.#outgoing.take(message),
      control_cancel_request: (message) => this.#ground.approvals.withdraw(String(message.request_id)),
      conversation_reset: () => this.#startOver(true),
      tool_progress: rowFor(scene.log, schema.toolProgress, (line) => this.#ends.progress(line.parent_tool_use_id ?? line.tool_use_id)),
    };
  }

  start(sent: boolean): void {
    const { initId, write } = this.#setup;
    void this.#outgoing
      .expect(initId, FIRST_REPLY, () => {
        if (!sent) write(initializeRequest(this.#setup, this.#ground.tools.offered));
      })
      .then((reply) => {
        if (reply.ok) this.#initialized(reply.payload);
        else this.#setup.giveUp(t('{0} did not get ready: {1}', this.#setup.peer.called, reply.message), { again: false });
      });
  }

  take(message: AgentMessage): void {
    const { type, session_id: session } = message;
    if (type === 'control_response') this.#silence.alive();
    else this.#silence.heard();
    if (typeof session === 'string' && session !== '' && session !== this.#session && type !== 'conversation_reset') this.#moveTo(session);
    const row = typeof type === 'string' && Object.hasOwn(this.#rows, type) ? this.#rows[type] : undefined;
    if (row) return row(message);
    const name = String(type);
    if (this.#unknown.has(name) || this.#unknown.size > 100) return;
    this.#unknown.add(name);
    this.#setup.scene.log.info(`The agent sends lines of an unknown type "${name.slice(0, 100)}"; they are ignored`);
  }

  send(intent: Intent): void {
    // What Parley asked about going on or back is settled by what the user says instead.
    if (intent.type === 'prompt' || intent.type === 'command') {
      this.#goBack.cancel();
      this.#yesNo.cancelAll();
    }
    switch (intent.type) {
      case 'prompt':
        if (intent.replaces === undefined || !this.#setup.keeps.edit) return this.#prompt(intent.turnId, intent.content);
        return void this.#goBack.filesBefore(intent.replaces).then((may) => may && this.#setup.goBack(intent.replaces ?? '', intent));
      case 'command':
        return this.#prompt(intent.turnId, [{ type: 'text', text: this.#ground.commandText(intent) }]);
      case 'cancel':
        return this.#cancel();
      case 'answer': {
        const { askId, answer } = intent;
        if (this.#yesNo.answer(askId, answer)) return;
        if (this.#goBack.answer(askId, answer.kind === 'option' ? answer.optionId : undefined)) return;
        if (this.#choices.answer(askId, answer.kind === 'option' && answer.optionId === 'yes')) return;
        return void this.#ground.approvals.answer(askId, answer);
      }
      case 'setMode':
        return this.#choices.chooseMode(intent.modeId);
      case 'setOption':
        return this.#choices.choose(intent.optionId, intent.value);
      case 'steer':
      case 'unqueue':
      case 'stopCall':
      case 'stopTerminal':
        return;
    }
  }

  get busy(): boolean {
    return this.#ground.turns.running !== undefined;
  }

  leave(): void {
    if (this.#ground.turns.running) void this.#outgoing.ask({ subtype: 'interrupt' });
    this.#ground.approvals.cancelAll('The conversation was ended.');
  }

  end(why: string): void {
    this.#background.over();
    this.#ground.approvals.cancelAll(why);
    this.#ground.lost();
    this.#choices.end();
    this.#goBack.cancel();
    this.#yesNo.cancelAll();
    this.#silence.stop();
    this.#ownTurn.over();
    this.#ground.tools.cancel();
    this.#outgoing.end();
    this.#ground.stopping.over();
    this.#ground.calls.endTurn();
    const next: readonly Remedy[] = this.#setup.keeps.history ? ['retry', 'continue'] : ['retry'];
    this.#ground.turns.end(this.#ground.turns.running?.stopping ? 'cancelled' : 'failed', { error: { message: why, next } });
  }

  #initialized(payload: unknown): void {
    const session = isRecord(payload) ? payload.session_id : undefined;
    if (typeof session === 'string' && session !== '') this.#moveTo(session);
    this.#introduction.begin(payload);
    offerToGoOn(this.#setup, { yesNo: this.#yesNo, outgoing: this.#outgoing, turns: this.#ground.turns });
    this.#setup.onReady();
  }

  #moveTo(session: string): void {
    const moved = this.#session !== '';
    this.#session = session;
    this.#setup.onSession(session);
    // Claude Code says so in a line of its own.
    if (moved && !this.#setup.peer.onlyMessages) this.#startOver(clearsIn(this.#prompted));
  }

  /** `asked`: the user wants what was said before to be gone; the view is cleared as soon as the turn that does it is over (qwen.md §3.9). */
  #startOver(asked: boolean): void {
    const { turns } = this.#ground;
    if (asked && turns.running) this.#clears = true;
    else turns.note('info', startedOver());
  }

  #prompt(turnId: TurnId, content: readonly Content[]): void {
    const { peer, cwd, write } = this.#setup;
    const prompt = promptOf(content, cwd, peer.takesImages);
    this.#ground.turns.begin(turnId, content);
    this.#prompted = prompt.text;
    this.#spoke = false;
    if (prompt.left.length > 0) this.#ground.turns.note('warn', t('{0} cannot take: {1}.', peer.called, prompt.left.join(', ')));
    if (prompt.text === '' && prompt.images.length === 0) {
      return this.#ground.turns.end('failed', { error: { message: t('There was nothing in the prompt that the agent can take.') } });
    }
    const range = this.#introduction.reportsUsage ? rangeIn(prompt.text) : undefined;
    if (range !== undefined) return void this.#reportUsage(turnId, range);
    if (!this.#introduction.knows(prompt.text))
      this.#ground.turns.note('info', t('No command of the agent has this name; it was sent as text.'));
    this.#silence.begin();
    const message = { role: 'user', content: userContent(prompt) };
    // Our own name for it is what can be gone back to.
    const named = peer.checkpoints && UUID.test(turnId) ? { uuid: turnId } : {};
    write({ type: 'user', ...named, session_id: this.#session, parent_tool_use_id: null, message });
  }

  async #reportUsage(turnId: TurnId, range: string): Promise<void> {
    const reply = await this.#outgoing.ask({ subtype: 'get_usage_info', range });
    const { turns } = this.#ground;
    if (turns.running?.id !== turnId) return;
    const text = reply.ok ? usageText(reply.payload) : undefined;
    if (text !== undefined) this.#emit({ type: 'text.delta', turnId, kind: 'text', partId: turns.newPart(), text });
    if (text !== undefined) this.#finish('done');
    else this.#finish('failed', { error: { message: reply.ok ? t('The agent gave no report.') : reply.message } });
  }

  /** The turn a line belongs to; the agent may begin one itself. */
  #turn(parent?: string | null): TurnId {
    const background = this.#ground.calls.backgroundTurn(parent);
    if (background !== undefined) return background;
    if (!this.#ground.turns.running) {
      this.#spoke = false;
      this.#prompted = '';
      this.#ground.turns.needed();
      this.#ownTurn.begins();
      this.#silence.begin();
    }
    return this.#ground.turns.needed().id;
  }

  #system(line: schema.SystemLine): void {
    const effects = systemEffects(line);
    if (line.subtype === 'init') this.#ownTurn.announced();
    this.#introduction.hear(effects);
    if (effects.activity !== undefined) this.#ground.turns.activity(effects.activity);
    if (effects.fails) this.#silence.fails(effects.activity);
    const call = line.tool_use_id ? this.#ground.calls.call(line.tool_use_id) : undefined;
    if (line.subtype === 'task_started' && line.tool_use_id) this.#ends.progress(line.tool_use_id);
    if (this.#background.heard(line) || !this.#tasks.tells(line, call)) return;
    const denied = line.subtype === 'permission_denied' && line.tool_use_id ? line.tool_use_id : undefined;
    if (denied !== undefined) this.#refusals.saidItself(denied);
    // That a call was refused is no step of it.
    for (const note of effects.notes) this.#ground.turns.note(note.level, note.text, denied === undefined ? note.parent : call?.parent);
  }

  #stream(line: schema.StreamLine): void {
    const { event } = line;
    if (event.type === 'tool_progress' && event.tool_use_id) return this.#ends.progress(event.tool_use_id);
    if (event.type.startsWith('content_block') || event.type === 'message_start') {
      this.#spoke ||= !line.parent_tool_use_id;
      this.#ground.all(this.#ground.calls.stream(line, this.#turn(line.parent_tool_use_id)));
      this.#ownTurn.heard(false);
    }
  }

  #assistant(line: schema.AssistantLine): void {
    const turnId = this.#turn(line.parent_tool_use_id);
    this.#spoke ||= !line.parent_tool_use_id;
    this.#ground.all(this.#ground.calls.assistant(line, turnId));
    for (const block of line.message.content) {
      const call = block.type === 'tool_use' && block.id ? this.#ground.calls.call(block.id) : undefined;
      if (!call || !block.id) continue;
      this.#ground.approvals.watch(block.id, call.use);
      // Those that may yet need a user's yes wait for it or for their result.
      if (!['edit', 'execute', 'think'].includes(call.use.kind) && call.use.work !== 'ask') this.#ends.progress(block.id);
    }
    this.#ownTurn.heard(this.#ground.calls.openCalls.length === 0);
    const used = line.parent_tool_use_id ? undefined : contextTokens(line.message.usage);
    if (used !== undefined) this.#emit({ type: 'usage.set', usage: { used } });
  }

  #user(line: schema.UserLine): void {
    const { content } = line.message;
    const words = line.parent_tool_use_id ? textOf(content) : '';
    if (words !== '' && !isInterruption(words)) {
      return this.#ground.all(this.#ground.calls.prompt(line, this.#turn(line.parent_tool_use_id)));
    }
    if (typeof content === 'string') return this.#remark(content);
    for (const block of content) {
      if (block.type === 'text') this.#remark(block.text ?? '');
      if (block.type !== 'tool_result' || !block.tool_use_id) continue;
      this.#ends.settle(block.tool_use_id, block, line);
      this.#ownTurn.heard(this.#ground.calls.openCalls.length === 0);
    }
  }

  /** A line the agent wrote to itself in the user's name. */
  #remark(text: string): void {
    const plain = text.replaceAll(/<\/?[a-z-]+>/g, '').trim();
    if (plain !== '' && !isInterruption(plain)) this.#ground.turns.note('info', plain.slice(0, 4000));
  }

  #result(line: schema.ResultLine): void {
    const turn = this.#ground.turns.running;
    if (!turn) {
      if (!this.#introduction.ready)
        return this.#setup.giveUp(errorText(line.error), { again: false, next: ['openSettings', 'showLog', 'restart'] });
      return this.#setup.scene.log.info('A result came while no turn was running');
    }
    const subAgent = this.#ground.calls.openCalls.find(([, call]) => call.use.work === 'agent' && call.parent === undefined);
    if (subAgent && line.is_error && line.duration_ms === 0 && line.num_turns === 0) {
      // A sub-agent that failed says so as if the turn were over (qwen.md §3.7).
      return this.#ground.turns.note('warn', errorText(line.error), subAgent[0]);
    }
    if (!this.#spoke && line.result) {
      this.#emit({ type: 'text.delta', turnId: turn.id, kind: 'text', partId: this.#ground.turns.newPart(), text: line.result });
    }
    this.#refusals.unasked(line, (callId) => this.#ground.approvals.wasAsked(callId));
    this.#emit({ type: 'usage.set', usage: this.#spent.since(usageOf(line)) });
    const { status, ...more } = turnEnd(line, turn.stopping);
    if (status === 'done') this.#ground.all(this.#ground.approvals.withoutResult(turn.id));
    this.#finish(status, more);
    void this.#introduction.askContext();
  }

  #finish(status: 'done' | 'cancelled' | 'failed', more: { readonly stop?: string; readonly error?: Fault } = {}): void {
    this.#endTurn();
    const clears = this.#clears && status === 'done';
    this.#clears = false;
    if (clears) this.#spent.startOver();
    if (clears) this.#emit({ type: 'notice', notice: { level: 'info', text: startedOver() } });
    this.#ground.turns.end(status, { ...more, ...(clears ? { clears } : {}) });
  }

  /** Nothing of the turn is waited for any more. */
  #endTurn(): void {
    this.#ownTurn.over();
    this.#silence.stop();
    this.#ground.stopping.over();
    this.#ground.approvals.cancelTurn('The turn is over.');
    this.#ground.approvals.forget();
    this.#ground.calls.endTurn();
  }

  #cancel(): void {
    const { stopping, approvals, tools } = this.#ground;
    if (!stopping.press()) return;
    void this.#outgoing.ask({ subtype: 'interrupt' }).then((reply) => reply.ok && this.#ownTurn.stopped());
    approvals.cancelTurn('The user stopped the turn.');
    tools.cancel();
  }
}

function startedOver(): string {
  return t('The conversation starts over; what was said before is forgotten.');
}
