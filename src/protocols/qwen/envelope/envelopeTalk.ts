import type * as z from 'zod/mini';
import { t } from '../../../base/l10n.ts';
import type { SessionEvent } from '../../../session/events.ts';
import type { Intent } from '../../../session/intents.ts';
import type { Content, Notice, Remedy, TurnId } from '../../../session/model.ts';
import type { Hint } from '../../adapter.ts';
import { Ground } from '../ground.ts';
import { promptOf } from '../message/prompt.ts';
import type { AgentMessage, Talk, TalkSetup } from '../talk.ts';
import type { Turns } from '../turns.ts';
import { YesNo } from '../yesNo.ts';
import { Answer } from './answer.ts';
import { Calls } from './calls.ts';
import { CommandResults } from './commandResults.ts';
import { faultOf, fingerprintOf, refusal, supports } from './faults.ts';
import { Flow } from './flow.ts';
import { Heartbeat, heartbeat } from './heartbeat.ts';
import { Hints } from './hints.ts';
import { historyEvents } from './history.ts';
import { LentTools } from './lentTools.ts';
import { Names } from './names.ts';
import { Notes } from './notes.ts';
import { referencesIn } from './references.ts';
import { approvalReply, envelopePeer, Requests } from './requests.ts';
import * as schema from './schema.ts';

/** Milliseconds (qwen.md §4.1, §4.7). */
const HANDSHAKE = 2_000;
const TRAIL = 1_000;

/** The envelope dialect: the RFC's OpenAI-shaped lines with their control channel, hints and heartbeat (qwen.md §4). */
export class EnvelopeTalk implements Talk {
  readonly #setup: TalkSetup;
  readonly #names: Names;
  readonly #emit: (event: SessionEvent) => void;
  readonly #ground: Ground<Calls>;
  readonly #notes: Notes;
  readonly #answer: Answer;
  readonly #flow: Flow;
  readonly #heart: Heartbeat;
  readonly #hints: Hints;
  readonly #requests: Requests;
  readonly #yesNo: YesNo;
  readonly #commands: CommandResults;
  readonly #lent: LentTools;
  #ready = false;
  /** The model has spoken in this turn. */
  #heard = false;
  /** When a turn was last cancelled, as the scene's clock says. */
  #cancelledAt = Number.NEGATIVE_INFINITY;
  #checked = false;
  /** The version the agent said it speaks. */
  #version: string | number | undefined;
  #waits = new Set<NodeJS.Timeout>();

  constructor(setup: TalkSetup) {
    this.#setup = setup;
    const { scene, emit, write, cwd, options } = setup;
    this.#emit = emit;
    this.#names = new Names(setup.resume, setup.onSession);
    this.#ground = new Ground(setup, { calls: () => new Calls(cwd), reply: approvalReply, peer: envelopePeer, setMode: () => {} });
    const { turns, calls, approvals, tools } = this.#ground;
    this.#yesNo = new YesNo(emit, scene.newId);
    this.#requests = new Requests({ ...this.#ground, yesNo: this.#yesNo, log: scene.log });
    const asking = () => approvals.waiting || this.#yesNo.waiting;
    this.#flow = new Flow(
      options.format,
      () => asking() || calls.busy || tools.busy,
      () => this.#endTurn('done'),
    );
    this.#notes = new Notes({
      emit,
      turns,
      calls,
      log: scene.log,
      asking,
      onFinished: (how) => {
        // An end that trickles in after a cancel is not the end of the next turn.
        if (this.#trailing && !this.#heard) return;
        this.#endTurn(this.#ground.turns.running?.stopping ? 'cancelled' : how);
      },
    });
    this.#answer = new Answer({ emit, turns, calls, notes: this.#notes, newId: scene.newId });
    this.#commands = new CommandResults({
      emit,
      turns,
      calls,
      flow: this.#flow,
      yesNo: this.#yesNo,
      newId: scene.newId,
      later: (ms, run) => this.#later(ms, run),
      promptId: () => this.#names.prompt,
      request: (request) => this.#request(request),
      loadHistory: (items) => this.#loadHistory(items),
      quit: () => this.#over(t('The session was ended.'), ['restart'], 'done'),
    });
    this.#lent = new LentTools({
      ...this.#ground,
      emit,
      flow: this.#flow,
      promptId: () => this.#names.prompt,
      request: (request) => this.#request(request),
    });
    this.#hints = new Hints({ write, session: () => this.#names.session, cwd });
    this.#heart = new Heartbeat({
      every: options.heartbeat,
      patience: options.patience,
      ask: () => write(heartbeat(this.#names.sessionIfTold)),
      onSilent: () => this.#liveness({ level: 'warn', text: t('The agent has not answered for a while.'), next: ['restart'] }),
      onBack: () => this.#liveness({ level: 'info', text: t('The agent answers again.') }),
      onDead: () => setup.giveUp(t('The agent did not answer any more.'), { again: true }),
    });
  }

  readonly hints = (text: string, cursor: number): Promise<readonly Hint[]> => this.#hints.ask(text, cursor);

  start(sent: boolean): void {
    this.#heart.start();
    if (sent) return this.#begin();
    this.#setup.write(heartbeat(this.#names.sessionIfTold));
    this.#later(HANDSHAKE, () => this.#begin());
  }

  take(message: AgentMessage): void {
    this.#heart.heard(message.type === 'result/heartbeat');
    const { session_id: session, type, object } = message;
    if (typeof session === 'string') this.#names.adopt(session);
    if (object !== undefined) this.#completion(message);
    else if (type === undefined && message.error !== undefined) this.#fatal(message);
    else if (typeof type === 'string') this.#typed(type, message);
    if (!this.#ready) this.#begin();
  }

  send(intent: Intent): void {
    switch (intent.type) {
      case 'prompt':
        return this.#ask(intent.turnId, intent.content);
      case 'command':
        return this.#command(intent.turnId, { kind: 'slash', path: intent.path, args: intent.args });
      case 'cancel':
        return this.#cancel();
      case 'answer':
        if (!this.#yesNo.answer(intent.askId, intent.answer)) this.#ground.approvals.answer(intent.askId, intent.answer);
        return this.#flow.active(false);
      default:
        return;
    }
  }

  get busy(): boolean {
    return this.#ground.turns.running !== undefined;
  }

  leave(): void {
    if (this.#ground.turns.running) {
      this.#writeCancel();
      this.#requests.cancelled();
    }
    this.#ground.approvals.cancelAll('The conversation was ended.');
    this.#yesNo.cancelAll();
  }

  end(why: string): void {
    this.#ground.approvals.cancelAll(why);
    this.#ground.lost();
    this.#yesNo.cancelAll();
    this.#heart.stop();
    this.#hints.end();
    this.#ground.tools.cancel();
    for (const timer of this.#waits) clearTimeout(timer);
    const status = this.#ground.turns.running?.stopping ? 'cancelled' : 'failed';
    this.#endTurn(status, { error: { message: why, next: ['retry'] } });
    this.#flow.reset();
  }

  #begin(): void {
    if (this.#ready) return;
    this.#ready = true;
    this.#sayReady();
    this.#setup.onReady();
    void this.#hints.commands().then(
      (found) => {
        const named = found.map(({ value, description }) => ({
          name: value.replace(/^\//, '').trim(),
          description: description ?? '',
          aliases: [],
        }));
        if (named.length > 0) this.#emit({ type: 'commands.set', commands: named });
      },
      // Then there are none to show until it suggests some.
      () => {},
    );
  }

  #sayReady(): void {
    this.#emit({
      type: 'link.ready',
      agent: { protocol: 'qwen', name: this.#setup.peer.name },
      offers: {
        hints: true,
        feedback: true,
        editableApprovals: true,
        ...(this.#ground.tools.offered ? { tools: this.#ground.tools.offer } : {}),
      },
    });
  }

  /** While the link is not ready nothing that waits in the queue can come between. */
  #loadHistory(items: readonly unknown[]): void {
    const { scene, cwd, firstTurn } = this.#setup;
    this.#emit({ type: 'link.opening', note: t('Loading an earlier conversation') });
    this.#endTurn('done');
    const first = firstTurn();
    if (first !== undefined) this.#emit({ type: 'turns.removed', from: first });
    this.#emit({ type: 'plan.set', plan: null });
    this.#ground.all(historyEvents(items, { cwd, at: scene.now(), newId: scene.newId }));
    this.#sayReady();
  }

  #liveness(notice: Notice): void {
    this.#emit({ type: 'notice', notice: { ...notice, about: 'silence' } });
  }

  #later(ms: number, run: () => unknown): void {
    const timer = setTimeout(() => {
      this.#waits.delete(timer);
      run();
    }, ms);
    this.#waits.add(timer);
  }

  #typed(type: string, message: AgentMessage): void {
    const { log } = this.#setup.scene;
    switch (type) {
      case 'control_request':
        this.#requests.take(message, this.#ground.turns.running?.id);
        return this.#flow.active(false);
      case 'control_response':
        return;
      case 'result/heartbeat':
        return this.#notes.state(schema.resultHeartbeat.safeParse(message).data?.status);
      case 'result/command_hint': {
        const hint = schema.resultHint.safeParse(message);
        return hint.success ? this.#hints.take(hint.data) : log.warn('A hint could not be read');
      }
      case 'result/cancel':
        return this.#cancelled(schema.resultCancel.safeParse(message).data);
      case 'result/command': {
        const parsed = schema.resultCommand.safeParse(message);
        if (!parsed.success) return log.warn('The result of a command could not be read');
        return this.#commands.take(parsed.data);
      }
      default:
        if (!type.startsWith('x-qwen-')) return log.info(`A line of an unknown type "${type.slice(0, 100)}" is ignored`);
        if (this.#late()) return;
        this.#notes.take(message, '');
        return this.#flow.active(false);
    }
  }

  #completion(message: AgentMessage): void {
    const parsed = schema.completion.safeParse(message);
    if (!parsed.success) return this.#setup.scene.log.warn(`A line was dropped: ${parsed.error.issues[0]?.path.join('.')}`);
    const line = parsed.data;
    const told = line.metadata ?? fingerprintOf(line.system_fingerprint);
    if (told?.session_id) this.#names.adopt(told.session_id);
    if (told?.protocol_version != null && !this.#checked) {
      this.#checked = true;
      if (!supports(told.protocol_version)) {
        const reason = t('The agent speaks version {0} of its protocol; this program speaks version 1.', told.protocol_version);
        return this.#over(reason, ['showLog', 'pickAgent']);
      }
    }
    this.#version = told?.protocol_version ?? this.#version;
    for (const fault of told?.control_errors ?? []) this.#requests.refused(fault);
    if (line.usage) {
      const { prompt_tokens: input, completion_tokens: output, total_tokens: used } = line.usage;
      this.#emit({ type: 'usage.set', usage: { ...(used ? { used } : {}), ...(input ? { input } : {}), ...(output ? { output } : {}) } });
    }
    if (this.#late()) return;
    const { anything, anew, finish, whole } = this.#answer.take(line);
    this.#heard ||= anew;
    if (anything) this.#flow.active(anew);
    this.#lent.run(whole);
    if (told?.error) {
      const fault = faultOf(told.error);
      if (fault.unsupported) return this.#over(refusal(told.error, this.#version), ['showLog', 'pickAgent']);
      if (finish === 'error')
        return this.#endTurn('failed', { error: { message: fault.message, ...(fault.code ? { code: fault.code } : {}), next: ['retry'] } });
      this.#ground.turns.note('error', fault.message, undefined, fault.next);
    } else if (finish === 'error') return this.#endTurn('failed', { error: { message: t('The agent failed.'), next: ['retry'] } });
    if (finish === 'length') this.#ground.turns.note('warn', t('The answer was cut off: it became too long.'), undefined, ['continue']);
    if (finish === 'content_filter') this.#ground.turns.note('warn', t('The answer was withheld by a filter.'));
    // A line with nothing but bookkeeping ends nothing, unless it says what went wrong.
    const counts = anything || told?.error != null || line.object === 'chat.completion.chunk';
    if (finish && this.#ground.turns.running && counts) this.#flow.finish(finish);
  }

  /** It goes no further with this process. While the link is not ready nothing that waits in the queue is sent to it. */
  #over(reason: string, next: readonly Remedy[], status: 'done' | 'failed' = 'failed'): void {
    this.#emit({ type: 'link.opening', note: reason });
    this.#endTurn(status, status === 'failed' ? { error: { message: reason } } : {});
    this.#setup.giveUp(reason, { again: false, next });
  }

  #fatal(message: AgentMessage): void {
    const parsed = schema.fatal.safeParse(message);
    const fault = parsed.success ? faultOf(parsed.data.error) : { message: t('The agent failed.'), code: undefined };
    this.#over(fault.code ? `${fault.message} (${fault.code})` : fault.message, ['restart', 'showLog']);
  }

  #ask(turnId: TurnId, content: readonly Content[]): void {
    const prompt = promptOf(content, this.#setup.cwd, false);
    this.#ground.turns.begin(turnId, content);
    if (prompt.left.length > 0) this.#ground.turns.note('warn', t('The agent cannot take: {0}.', prompt.left.join(', ')));
    if (prompt.text === '')
      return this.#endTurn('failed', { error: { message: t('There was nothing in the prompt that the agent can take.') } });
    this.#next();
    const command = referencesIn(prompt.text);
    this.#request({ prompt_id: this.#names.prompt, input: { origin: 'user', parts: [{ type: 'text', text: prompt.text }], command } });
  }

  #command(turnId: TurnId, command: { readonly kind: 'slash'; readonly path: readonly string[]; readonly args: string }): void {
    this.#ground.turns.begin(turnId, [{ type: 'text', text: this.#ground.commandText(command) }]);
    this.#next();
    this.#request({ prompt_id: this.#names.prompt, input: { origin: 'user', parts: [{ type: 'text', text: '' }], command } });
  }

  #next(): void {
    this.#names.nextPrompt();
    this.#heard = false;
    this.#ground.stopping.over();
    this.#hints.cancel();
  }

  /** A chat request: the one message without a `type`. */
  #request(request: object): void {
    this.#setup.write({ session_id: this.#names.session, ...this.#setup.options.request, ...request });
  }

  #cancel(): void {
    const { stopping, approvals, tools } = this.#ground;
    if (!stopping.press()) return;
    this.#writeCancel();
    this.#requests.cancelled();
    approvals.cancelAll('The user stopped the turn.');
    this.#yesNo.cancelAll();
    tools.cancel();
  }

  #writeCancel(): void {
    const prompt = this.#names.begun ? { prompt_id: this.#names.prompt } : {};
    this.#setup.write({ type: 'control/cancel', session_id: this.#names.sessionIfTold, ...prompt, reason: 'escape' });
  }

  /** Stopped, or nothing was running: either way nothing runs now. */
  #cancelled(result: z.infer<typeof schema.resultCancel> | undefined): void {
    if (!this.#ground.turns.running) return;
    // An answer about a prompt that was left long ago; a peer that counts otherwise than we do is believed while a Stop is open.
    const earlier = this.#names.isEarlier(result?.prompt_id);
    if (earlier) return this.#setup.scene.log.info('A cancel of an earlier prompt was confirmed late; it ends nothing');
    if (result?.status === 'noop' && !this.#ground.turns.running.stopping) return;
    this.#endTurn('cancelled');
  }

  /** A turn was cancelled a moment ago: what still trickles in belongs to it. */
  get #trailing(): boolean {
    return this.#setup.scene.now() - this.#cancelledAt < TRAIL;
  }

  /** Nothing shows any more what trickles in after the end of the turn it belongs to. */
  #late(): boolean {
    if (this.#ground.turns.running || !this.#trailing) return false;
    this.#setup.scene.log.info('A line of the turn that was stopped came late; it is not shown');
    return true;
  }

  #endTurn(status: 'done' | 'cancelled' | 'failed', more: Parameters<Turns['end']>[1] = {}): void {
    const turn = this.#ground.turns.running;
    this.#ground.stopping.over();
    this.#requests.over();
    this.#ground.approvals.cancelAll('The turn is over.');
    this.#ground.approvals.forget();
    this.#yesNo.cancelAll();
    this.#flow.reset();
    this.#notes.endTurn();
    this.#answer.endTurn();
    if (turn && status === 'cancelled') this.#cancelledAt = this.#setup.scene.now();
    if (turn) this.#ground.all(this.#ground.calls.endTurn(turn.id, status === 'done'));
    this.#ground.turns.end(status, more);
  }
}
