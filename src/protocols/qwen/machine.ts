import { answerCut, t } from '../../base/l10n.ts';
import type { LinkEnd } from '../../base/outcomes.ts';
import type { Input, Machine } from '../../conversation/machine.ts';
import { find, remove } from '../../conversation/state.ts';
import { Step } from '../../conversation/step.ts';
import type { Remedy } from '../../session/model.ts';
import { junkWhileOpening } from '../junk.ts';
import { dialectOf, heartbeatRequest, isRecord, type Line, type QwenDialect } from './codec.ts';
import { EnvelopeStep, newEnvelopeState } from './envelope.ts';
import { argsOf, detailOf, explain, knowsNoSuch, nextRestart, type ProcessStart, sentenceOf, worthRestarting } from './launch.ts';
import { MessageStep, newMessageState, replay } from './message.ts';
import { type Entry, INITIALIZE, initializeRequest } from './messageCodec.ts';
import { PEERS } from './quirks.ts';
import { newAgent, type QwenAgent, type QwenState } from './state.ts';
import { AGENT } from './step.ts';

/*
 * Qwen Code's structured input and output, and Claude Code, which speaks one of its two dialects. One process, newline-delimited JSON.
 *
 * ProcessStep (here) starts the process, finds out the dialect, starts it again when it dies and ends it. A dialect has three layers, a file each:
 * MessageStep and EnvelopeStep hold the conversation; below them MessageParts and EnvelopeParts show what the agent makes in a turn; below
 * both QwenStep is what the dialects share. Each input has one receiver.
 *
 * The requests to use a tool are in `QwenAgent.approvals`, beside the core's `asks`: one is open longer than its ask is, while its file is read before
 * the ask, and checked and written after it.
 */

/** Milliseconds. */
const LIMITS = {
  /** Until the agent has shown which dialect it speaks. */
  detection: 45_000,
  /** A peer that knows no probe ends this soon after one. */
  probeDeath: 5_000,
};
const JUNK_LOGGED = 20;
/** The method of what a lines link tells beside lines: a line was too long, and was left out. */
export const TOO_LONG = 'too long';

export const qwenMachine: Machine<QwenState> = (state, input, now) => {
  if (state.phase === 'over') return [];
  if (input.on === 'closed') remove(state.links, input.link);
  const step = state.agent?.dialect && isForDialect(input) ? dialectStep(state, now) : new ProcessStep(state, now);
  step.take(input);
  return step.effects;
};

function isForDialect(input: Input): boolean {
  switch (input.on) {
    case 'message':
      return input.method !== TOO_LONG;
    case 'asked':
    case 'intent':
    case 'reply':
    case 'timer':
      return true;
    default:
      return false;
  }
}
function dialectStep(state: QwenState, now: number): MessageStep | EnvelopeStep {
  return state.agent?.dialect === 'envelope' ? new EnvelopeStep(state, now) : new MessageStep(state, now);
}

class ProcessStep extends Step<QwenState> {
  take(input: Input): void {
    switch (input.on) {
      case 'start':
        return this.begin();
      case 'leave':
        return this.leave();
      case 'message':
        return input.method === TOO_LONG ? this.leaveOut(input.params) : this.detect(null, input.params as Line);
      case 'asked':
        return this.detect(input.id, input.params as Line);
      case 'junk':
        return this.onJunk(input.text);
      case 'closed':
        return this.closed(input.why);
      case 'reply':
        return input.call === 'record' ? this.showRecord(input.result as readonly Entry[] | undefined) : undefined;
      case 'timer':
        if (input.timer === 'restart') this.openProcess({ plain: false });
        if (input.timer === 'detection') this.giveUpDetecting();
        return;
      default:
        return;
    }
  }

  // --- the beginning

  begin(): void {
    const { setup } = this.state;
    this.state.phase = 'opening';
    for (const problem of setup.problems) this.emit({ type: 'notice', notice: { level: 'warn', text: problem } });
    // The agent itself may not say its name for the conversation before the first prompt.
    if (setup.resume) this.emit({ type: 'resume.set', key: setup.resume.key });
    if (setup.resume?.history) this.do({ do: 'port', call: 'record', port: 'file', args: { do: 'record', key: setup.resume.key } });
    else this.openProcess({ plain: false });
  }
  /** The earlier conversation, as the agent stores it. */
  showRecord(entries: readonly Entry[] = []): void {
    if (this.state.phase === 'left') return;
    const { setup } = this.state;
    const events = replay(entries, setup.cwd);
    for (const event of events) {
      if (event.type === 'turn.started') this.state.firstTurn ??= event.turnId;
      this.emit(event);
    }
    this.state.unrecorded = events.length === 0;
    this.openProcess({ plain: false });
  }
  /** Starts a process. Everything that belonged to an earlier one is emptied with it. */
  openProcess(how: { readonly plain: boolean; readonly upTo?: string | null }): void {
    const { setup, key, firstTurn } = this.state;
    // Before the first prompt the agent keeps nothing that could be resumed.
    const resume = firstTurn !== null || setup.resume?.history === true ? key : null;
    const beginning: ProcessStart = { plain: how.plain, resume, upTo: how.upTo ?? null };
    const args = argsOf(setup.args, PEERS[setup.product], setup.options, beginning);
    this.state.agent = newAgent(how.plain, args, this.now);
    this.state.phase = 'opening';
    this.open(AGENT, { args });
    if (setup.options.dialect === 'message' || PEERS[setup.product].onlyMessages) this.useDialect('message', false);
    else if (setup.options.dialect === 'envelope') this.useDialect('envelope', false);
    else this.probe(how.plain);
  }

  // --- which dialect it speaks

  /** Two lines that tell the dialects apart. Their order matters: Qwen Code decides by its very first line what it is. */
  probe(plain: boolean): void {
    const { setup, key } = this.state;
    const beat = heartbeatRequest(key ?? '');
    const lines = plain ? [beat] : [initializeRequest(PEERS[setup.product], setup.tools.length > 0), beat];
    this.timer('detection', LIMITS.detection);
    this.do({ do: 'notify', link: AGENT, method: 'line', params: lines });
  }
  detect(id: string | null, line: Line): void {
    const { agent } = this.state;
    if (!agent || agent.ending) return;
    agent.early.push({ id, line });
    // It refused the probe itself, and may answer one without the line it does not know.
    if (!agent.plain && line.type === undefined && isRecord(line.error)) return;
    const dialect = dialectOf(line, INITIALIZE);
    if (dialect) this.useDialect(dialect, true);
  }
  /** The dialect is known. `sent`: the first line was written already. */
  useDialect(dialect: QwenDialect, sent: boolean): void {
    const { agent, key } = this.state;
    if (!agent) return;
    this.timer('detection', null);
    agent.dialect = dialect;
    if (dialect === 'message') agent.message = newMessageState();
    else agent.envelope = newEnvelopeState(key, this.now);
    const step = dialectStep(this.state, this.now);
    step.start(sent);
    for (const { id, line } of agent.early.splice(0)) {
      if (id === null) step.take({ on: 'message', link: AGENT, method: 'line', params: line });
      else step.take({ on: 'asked', link: AGENT, id, method: 'line', params: line });
    }
    for (const effect of step.effects) this.do(effect);
  }
  giveUpDetecting(): void {
    const { agent } = this.state;
    if (!agent || agent.ending) return;
    const reason = t('The agent did not answer within {0} s.', LIMITS.detection / 1000);
    agent.ending = { kind: 'close', reason, next: null };
    this.close(AGENT);
  }
  onJunk(text: string): void {
    this.state.junk += 1;
    if (this.state.junk <= JUNK_LOGGED) this.log('info', `The agent wrote something that is no message: ${text.slice(0, 500)}`);
    if (this.state.junk === 1 && !this.state.agent?.dialect) this.emit(junkWhileOpening(text, 'stream-json'));
  }
  /** The agent continues, but the content of that line is lost, so a notice tells the user. */
  leaveOut(limit: unknown): void {
    const text = answerCut('size');
    this.log('warn', `A message of more than ${Number(limit) / 1024 / 1024} MB was left out`);
    this.emit({ type: 'notice', notice: { level: 'warn', text } });
  }

  // --- the end

  leave(): void {
    if (this.state.phase === 'left') return;
    this.state.phase = 'left';
    if (this.state.agent?.dialect) {
      const step = dialectStep(this.state, this.now);
      step.stopAgent();
      step.endAgent(t('The agent was stopped.'));
      for (const effect of step.effects) this.do(effect);
    }
    if (find(this.state.links, AGENT)) this.close(AGENT);
    else this.state.phase = 'over';
  }
  /** Settles everything that was asked or under way. */
  settleDialect(why: string): void {
    if (!this.state.agent?.dialect) return;
    const step = dialectStep(this.state, this.now);
    step.endAgent(why);
    for (const effect of step.effects) this.do(effect);
  }
  closed(why: LinkEnd): void {
    const { agent, phase } = this.state;
    this.timer('detection', null);
    if (phase === 'left' || !agent) {
      this.state.phase = 'over';
      return;
    }
    const stderr = why.stderr ?? '';
    const lived = this.now - agent.startedAt;
    const words = explain(stderr);
    const { ending } = agent;
    if (ending) {
      if (ending.kind !== 'anew') this.settleDialect(ending.reason);
      if (ending.kind === 'restart') return this.restart(agent, ending.reason, words);
      if (ending.kind === 'anew') return this.beginAnew();
      if (ending.kind === 'close') return this.end(agent, ending.reason, { words, next: ending.next, why });
      this.state.queuedPrompt = ending.prompt;
      // Before the very first message there is nothing to resume.
      if (ending.upTo === null) this.state.key = null;
      return this.openProcess({ plain: false, upTo: ending.upTo });
    }
    if (this.state.key !== null && agent.args.includes('--resume') && knowsNoSuch(stderr)) return this.beginAnew();
    if (!agent.dialect && !agent.plain && why.failure === 'ended' && lived < LIMITS.probeDeath && !/^Usage:/m.test(stderr)) {
      // A strict peer of the other dialect may die of the first line; then it is asked again without it.
      this.log('info', 'The agent ended at the first question; starting it once more for the envelope dialect');
      return this.openProcess({ plain: true });
    }
    this.state.brokeOff ||= this.state.turn !== null;
    const reason = sentenceOf(why);
    this.settleDialect(reason);
    if (agent.dialect && why.failure === 'ended' && worthRestarting(why, lived, words)) return this.restart(agent, reason, words);
    this.end(agent, reason, { words, next: null, why });
  }
  restart(agent: QwenAgent, reason: string, words: string): void {
    const next = nextRestart(this.state.restarts, this.now);
    if (!next) return this.end(agent, reason, { words, next: null });
    this.state.agent = null;
    this.state.phase = 'opening';
    this.log('warn', `${reason} Starting it again (${next.nth}): ${words.slice(-500)}`);
    this.emit({ type: 'link.opening', note: t('Trying again ({0} of {1}): {2}', next.nth, 3, reason) });
    this.timer('restart', next.wait);
  }
  /** The conversation to resume does not exist, as when it ended before its first message. */
  beginAnew(): void {
    const { called } = this.state.setup;
    this.log('warn', `${called} does not keep the conversation ${this.state.key}`);
    this.settleDialect('');
    this.state.key = null;
    this.state.brokeOff = false;
    this.state.unrecorded = false;
    this.notifyResumeFailed();
    this.openProcess({ plain: false });
  }
  end(
    agent: QwenAgent,
    reason: string,
    how: { readonly words: string; readonly next: readonly Remedy[] | null; readonly why?: LinkEnd },
  ): void {
    const { command } = this.state.setup;
    const detail = detailOf({ command, args: agent.args }, how.words, how.why ?? {});
    this.linkClosed(reason, how.next ?? ['restart', 'showLog'], detail);
    this.state.phase = 'over';
  }
}
