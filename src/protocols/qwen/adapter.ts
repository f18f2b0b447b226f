import { parseJson } from '../../base/json.ts';
import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Intent } from '../../session/intents.ts';
import type { Remedy, TurnId } from '../../session/model.ts';
import type { Channel, Closed } from '../../transport/channel.ts';
import { toLine } from '../../transport/lines.ts';
import { type ProcessOptions, type ProcessSpec, processChannel } from '../../transport/process.ts';
import type { Adapter, AdapterContext, Hint, Past } from '../adapter.ts';
import { junkWhileOpening } from '../junk.ts';
import { copyIn, copyKey, modeIn, type ProcessLaunch, processOf } from './commandLine.ts';
import { classify, isRecord, type Verdict } from './detect.ts';
import { EnvelopeTalk } from './envelope/envelopeTalk.ts';
import { heartbeat } from './envelope/heartbeat.ts';
import { detailOf, explain, knowsNoSuch, sentenceOf } from './exits.ts';
import { initializeRequest } from './message/initialize.ts';
import { MessageTalk } from './message/messageTalk.ts';
import { readTalkOptions } from './options.ts';
import { type Peer, peerOf } from './peers.ts';
import { Kept } from './record/kept.ts';
import { Restarts, worthRestarting } from './restarts.ts';
import type { AgentMessage, Talk, TalkOptions, TalkSetup } from './talk.ts';

/** Bytes in one line (qwen.md §1.7). */
const LINE_LIMIT = 64 * 1024 * 1024;
/** Milliseconds: until the agent has shown which dialect it speaks; from the end of its input to SIGTERM, and to SIGKILL. */
const DETECTION = 45_000;
const PATIENCE = { end: 3_000, term: 5_000 };
/** A peer that knows no probe ends this soon after one. */
const PROBE_DEATH = 5_000;
const JUNK_LOGGED = 20;
const FOREIGN_LIMIT = 3;

/** One process of the agent, from its start to its end. */
interface RunEnd {
  readonly run: Run;
  readonly reason: string;
  /** What it wrote to explain itself; '' when nothing. */
  readonly said: string;
  readonly next?: readonly Remedy[] | undefined;
  /** The exit code, when it ended with one. */
  readonly code?: number | undefined;
}
interface Run {
  readonly channel: Channel;
  readonly spec: ProcessSpec;
  readonly since: number;
  readonly plain: boolean;
  readonly held: AgentMessage[];
  talk?: Talk;
  dialect?: Verdict;
  /** How it is to go on when the process has ended, once that was decided here. */
  verdict?: {
    readonly reason: string;
    readonly again: boolean;
    readonly next?: readonly Remedy[];
    /** It goes on from an earlier message; what to say there. */
    readonly back?: { readonly upTo: string | undefined; readonly prompt: Intent };
  };
  detection?: NodeJS.Timeout;
  foreign: number;
}

/** Starts a process; another one in tests. */
export type Connect = (spec: ProcessSpec, options: ProcessOptions) => Channel;

/** Keeps an agent running for one session: starts it, finds out its dialect, starts it again when it dies, ends it. */
export class QwenAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #connect: Connect;
  readonly #launch: ProcessLaunch;
  readonly #scene: AdapterContext;
  readonly #peer: Peer;
  readonly #options: TalkOptions;
  readonly #restarts = new Restarts();
  #settleEnded = (): void => {};
  #run: Run | undefined;
  #again: NodeJS.Timeout | undefined;
  readonly #kept: Kept;
  #key: string | undefined;
  /** To be said as soon as the agent is ready. */
  #held: Intent | undefined;
  #brokeOff = false;
  #firstTurn: TurnId | undefined;
  #disposed = false;
  #junk = 0;

  constructor(launch: ProcessLaunch, scene: AdapterContext, connect: Connect = processChannel) {
    this.#connect = connect;
    this.#launch = launch;
    this.#scene = scene;
    this.#peer = peerOf(launch.command, launch.args, scene.name);
    const { options, problems } = readTalkOptions(launch.options ?? {}, launch.args);
    this.#options = options;
    this.#key = scene.resume?.key;
    this.#kept = new Kept(launch, this.#peer);
    this.#firstTurn = scene.past?.[0]?.id;
    this.#brokeOff = scene.past?.at(-1)?.cutOff === true;
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
    for (const problem of problems) scene.emit({ type: 'notice', notice: { level: 'warn', text: problem } });
    // The agent itself may not say its name for the conversation before the first prompt.
    if (this.#key !== undefined) scene.emit({ type: 'resume.set', key: this.#key });
    if (scene.resume?.history) void this.#showRecord(scene.resume.key).then(() => !this.#disposed && this.#start({ plain: false }));
    else this.#start({ plain: false });
  }

  send(intent: Intent): void {
    this.#run?.talk?.send(intent);
  }

  hints(text: string, cursor: number): Promise<readonly Hint[]> {
    return this.#run?.talk?.hints?.(text, cursor) ?? Promise.resolve([]);
  }

  async history(): Promise<readonly Past[]> {
    return (await this.#kept.all()).filter((past) => past.key !== this.#key);
  }

  /** The agent makes the copy when it is opened. */
  async fork(): Promise<string> {
    if (this.#key === undefined) throw new Error(t('There is nothing to copy yet.'));
    return copyKey(copyIn(this.#key) ?? this.#key);
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    clearTimeout(this.#again);
    const run = this.#run;
    if (!run) return this.#settleEnded();
    clearTimeout(run.detection);
    run.talk?.leave();
    run.talk?.end(t('The conversation was ended.'));
    run.channel.dispose();
  }

  /** What was said before, as the agent keeps it. */
  async #showRecord(key: string): Promise<void> {
    const events = await this.#kept.said(key);
    if (this.#disposed) return;
    for (const event of events) this.#say(event);
    if (events.length > 0) return;
    const text = t('{0} goes on with this conversation but does not repeat what was said before.', this.#peer.called);
    this.#scene.emit({ type: 'notice', notice: { level: 'info', text } });
  }

  #start({ plain, upTo }: { readonly plain: boolean; readonly upTo?: string }): void {
    // Before the first prompt the agent keeps nothing that could be gone on with.
    const begun = this.#firstTurn !== undefined || this.#scene.resume?.history === true;
    const resume = this.#key === undefined || !begun ? {} : { resume: this.#key };
    const how = { plain, ...resume, ...(upTo === undefined ? {} : { upTo }) };
    const spec = processOf(this.#launch, this.#peer, this.#options, how);
    const channel = this.#connect(spec, {
      log: this.#scene.log,
      patience: PATIENCE,
      limit: LINE_LIMIT,
      onTooLong: () => this.#leaveOut(),
    });
    const run: Run = { channel, spec, since: performance.now(), plain, held: [], foreign: 0 };
    this.#run = run;
    channel.onMessage((line) => this.#take(run, line));
    channel.onClosed((closed) => this.#closed(run, closed));
    const { dialect } = this.#options;
    if (dialect === 'message' || this.#peer.onlyMessages) this.#begin(run, 'message', false);
    else if (dialect === 'envelope') this.#begin(run, 'envelope', false);
    else this.#probe(run);
  }

  /** Two lines that tell the dialects apart. Their order matters: the shipped agent decides by its very first line what it is (qwen.md §2.3). */
  #probe(run: Run): void {
    run.detection = setTimeout(
      () => this.#giveUp(run, t('For {0} s the agent said nothing that this program understands.', DETECTION / 1000), { again: false }),
      DETECTION,
    );
    const lines = [heartbeat(this.#key ?? '')];
    if (!run.plain) lines.unshift(initializeRequest(this.#setup(run), this.#scene.ports.tools.length > 0));
    this.#write(run, ...lines);
  }

  #begin(run: Run, dialect: Verdict, sent: boolean): void {
    clearTimeout(run.detection);
    run.dialect = dialect;
    const setup = this.#setup(run);
    run.talk = dialect === 'message' ? new MessageTalk(setup) : new EnvelopeTalk(setup);
    run.talk.start(sent);
    for (const message of run.held.splice(0)) run.talk.take(message);
  }

  #setup(run: Run): TalkSetup {
    return {
      scene: this.#scene,
      emit: (event) => this.#emit(run, event),
      write: (message) => this.#write(run, message),
      peer: this.#peer,
      cwd: this.#launch.cwd,
      options: this.#options,
      initId: 'initialize',
      resume: this.#key,
      mode: modeIn(run.spec.args),
      onSession: (id) => {
        this.#key = id;
        this.#emit(run, { type: 'resume.set', key: id });
      },
      onReady: () => {
        const held = this.#held;
        this.#held = undefined;
        this.#brokeOff = false;
        if (held) run.talk?.send(held);
      },
      keeps: this.#kept.offers,
      goBack: (turnId, prompt) => void this.#goBack(run, turnId, prompt),
      firstTurn: () => this.#firstTurn,
      brokeOff: this.#brokeOff,
      giveUp: (reason, how) => this.#giveUp(run, reason, how),
    };
  }

  /** The agent goes on; what was in that line is lost, so the user has to know. */
  #leaveOut(): void {
    const text = t('The agent sent a message of more than {0} MB. It was left out; the conversation goes on.', LINE_LIMIT / 1024 / 1024);
    this.#scene.log.warn(text);
    this.#scene.emit({ type: 'notice', notice: { level: 'warn', text } });
  }

  /** Ends the process and goes on, in a new one, from the message before that turn. */
  async #goBack(run: Run, turnId: TurnId, { turnId: next, content }: Extract<Intent, { type: 'prompt' }>): Promise<void> {
    const prompt: Intent = { type: 'prompt', turnId: next, content };
    const found = this.#key === undefined ? undefined : await this.#kept.before(this.#key, turnId);
    if (this.#disposed || this.#run !== run || run.verdict) return;
    if (!found) {
      const text = t('The agent does not keep that message any more; yours was sent at the end of the conversation.');
      this.#scene.emit({ type: 'notice', notice: { level: 'warn', text } });
      return run.talk?.send(prompt);
    }
    const reason = t('Going back to an earlier message');
    run.verdict = { reason, again: false, back: { upTo: found.upTo, prompt } };
    this.#say({ type: 'turns.removed', from: turnId });
    this.#scene.emit({ type: 'link.opening', note: reason });
    run.channel.dispose();
  }

  #emit(run: Run, event: SessionEvent): void {
    if (!this.#disposed && this.#run === run) this.#say(event);
  }

  #say(event: SessionEvent): void {
    if (event.type === 'turn.started') this.#firstTurn ??= event.turnId;
    const all = event.type === 'turns.removed' ? event.from === this.#firstTurn : event.type === 'turn.ended' && event.clears;
    if (all) this.#firstTurn = undefined;
    this.#scene.emit(event);
  }

  #write(run: Run, ...messages: readonly object[]): void {
    for (const message of messages) this.#scene.trace('out', message);
    // One write, so that nothing can come between them.
    run.channel.send(messages.map(toLine).join('\n')).catch(() => {
      // The channel says itself why it closed.
    });
  }

  #take(run: Run, line: string): void {
    if (this.#run !== run || (run.verdict?.again ?? false)) return;
    const message = parse(line);
    if (!message) {
      this.#junk += 1;
      if (this.#junk <= JUNK_LOGGED) this.#scene.log.info(`The agent wrote something that is no message: ${line.slice(0, 500)}`);
      if (this.#junk === 1 && !run.talk) this.#scene.emit(junkWhileOpening(line, 'stream-json'));
      return;
    }
    this.#scene.trace('in', message);
    if (run.talk) {
      const verdict = classify(message, 'initialize');
      if (verdict !== undefined && verdict !== run.dialect && message.type !== 'control_response') return this.#foreign(run);
      return run.talk.take(message);
    }
    run.held.push(message);
    // It refused the probe itself, and may answer one without the line it does not know.
    if (!run.plain && message.type === undefined && isRecord(message.error)) return;
    const verdict = classify(message, 'initialize');
    if (verdict) this.#begin(run, verdict, true);
  }

  /** A line of the other dialect is a fault; a few of them end it (qwen.md §2.7). */
  #foreign(run: Run): void {
    run.foreign += 1;
    this.#scene.log.warn('The agent sent a line of another dialect; it is ignored');
    if (run.foreign >= FOREIGN_LIMIT) this.#giveUp(run, t('The agent mixes two dialects of its protocol.'), { again: false });
  }

  #giveUp(run: Run, reason: string, how: { readonly again: boolean; readonly next?: readonly Remedy[] }): void {
    if (this.#run !== run || run.verdict) return;
    run.verdict = { reason, ...how };
    if (how.again) {
      // It is lost as it stands; what the old process may yet say about it is not heard.
      this.#brokeOff ||= run.talk?.busy ?? false;
      run.talk?.end(reason);
    } else run.talk?.leave();
    run.channel.dispose();
  }

  #closed(run: Run, closed: Closed): void {
    clearTimeout(run.detection);
    if (this.#disposed) return this.#settleEnded();
    if (this.#run !== run) return;
    const lived = performance.now() - run.since;
    const said = explain(closed.stderr);
    if (run.verdict) {
      const { reason, again, next, back } = run.verdict;
      run.talk?.end(reason);
      if (back) return this.#resumeAt(back);
      return again ? this.#restart(run, reason, said) : this.#end({ run, reason, said, next, code: closed.code });
    }
    if (this.#key !== undefined && run.spec.args.includes('--resume') && knowsNoSuch(closed.stderr)) return this.#beginAnew(run);
    if (!run.talk && !run.plain && closed.failure === 'ended' && lived < PROBE_DEATH && !/^Usage:/m.test(closed.stderr)) {
      // A strict peer of the other dialect may die of the first line; then it is asked again without it (qwen.md §2.5).
      this.#scene.log.info('The agent ended at the first question; starting it once more for the envelope dialect');
      return this.#start({ plain: true });
    }
    this.#brokeOff ||= run.talk?.busy ?? false;
    const reason = sentenceOf(closed);
    run.talk?.end(reason);
    if (run.talk && closed.failure === 'ended' && worthRestarting(closed, lived, said)) return this.#restart(run, reason, said);
    this.#end({ run, reason, said, code: closed.code });
  }

  #restart(run: Run, reason: string, said: string): void {
    const next = this.#restarts.next(performance.now());
    if (!next) return this.#end({ run, reason: t('{0} It was started again too often.', reason), said });
    this.#run = undefined;
    this.#scene.log.warn(`${reason} Starting it again (${next.nth}): ${said.slice(-500)}`);
    this.#scene.emit({ type: 'link.opening', note: t('{0} Starting it again ({1} of 3).', reason, next.nth) });
    this.#again = setTimeout(() => this.#start({ plain: false }), next.wait);
  }

  /** What was to be gone on with is not there, as of a conversation that ended before anything was said in it. */
  #beginAnew(run: Run): void {
    this.#scene.log.warn(`${this.#peer.called} does not keep the conversation ${this.#key}`);
    run.talk?.end('');
    this.#key = undefined;
    this.#brokeOff = false;
    const text = t(
      '{0} does not keep this conversation any more. What you see above is not known to it; a new conversation begins.',
      this.#peer.called,
    );
    this.#say({ type: 'notice', notice: { level: 'warn', text } });
    this.#start({ plain: false });
  }

  #resumeAt({ upTo, prompt }: { readonly upTo: string | undefined; readonly prompt: Intent }): void {
    this.#held = prompt;
    // Before the very first message there is nothing to go on from.
    if (upTo === undefined) this.#key = undefined;
    this.#start({ plain: false, ...(upTo === undefined ? {} : { upTo }) });
  }

  #end({ run, reason, said, next, code }: RunEnd): void {
    const detail = detailOf(run.spec, said, code);
    this.#run = undefined;
    this.#scene.emit({
      type: 'link.closed',
      reason,
      ...(detail === undefined ? {} : { detail }),
      next: next ?? ['restart', 'showLog'],
      at: this.#scene.now(),
    });
    this.#settleEnded();
  }
}

function parse(line: string): AgentMessage | undefined {
  try {
    const value = parseJson(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
