import { t } from '../../base/l10n.ts';
import type { Failure, LinkEnd } from '../../base/outcomes.ts';
import { clear, find, type OfferedTool, type OpenAsk, put } from '../../conversation/state.ts';
import { OFFER_RESTART, RESTART, Step } from '../../conversation/step.ts';
import type { Answer } from '../../session/intents.ts';
import type { Offers, ToolOffer } from '../../session/model.ts';
import { junkWhileOpening } from '../junk.ts';
import { atLeast, type Feature, isNewer, LEGACY, modeChoice, parseVersion, readInitialize, readReply, SINCE } from './codec.ts';
import { isKimiCode, refusedSessionFlag, whyClosed, wireLaunch } from './launch.ts';
import { codes, type InitializeResult, type methods, NEWEST_VERSION } from './schema.ts';
import type { Handshake, WireAgent, WireState } from './state.ts';

/*
 * The connection to a Wire agent, from the start of its process until a prompt can be sent, and its end: the process, the handshake, the
 * record of an earlier conversation, and the replies and timers of these. The conversation over it is in machine.ts.
 */

/** The name of the one link. */
export const AGENT = 'agent';
/** Parameters of opening the link. Old servers refuse the flag that names a session. */
export interface Start {
  readonly sessionFlag: boolean;
}
/** Arguments of the probe port: ask a program whether it has no handshake or, after its end, what it is. */
export interface Probe {
  readonly what: 'legacy' | 'program';
}
const KEEP_WAITING = () => t('Keep waiting');
const START_AGAIN = () => t('Try again');
const NO_HANDSHAKE = () => t('Continue without the handshake (old versions)');

export abstract class WireConnection extends Step<WireState> {
  // --- what the conversation does for it

  /** Stops the turn, because the session is left. */
  abstract cancel(): void;
  /** Ends a turn of the agent that something else has taken the place of. */
  abstract cutOff(): void;

  // --- the process

  start(how: { readonly history: boolean; readonly sessionFlag: boolean }): void {
    const { state } = this;
    const { setup } = state;
    const key = wireLaunch({ ...setup, env: null }, setup.key, how.sessionFlag).key ?? null;
    Object.assign(state.child, { ...how, key, next: 'end', ending: null });
    Object.assign(state, { phase: 'opening', agent: null, turn: null, replaying: false, steers: [] });
    clear(state.missing);
    this.open(AGENT, { sessionFlag: how.sessionFlag } satisfies Start);
    if (key !== null) this.emit({ type: 'resume.set', key });
    this.emit({ type: 'link.opening' });
    setup.limits.notes.forEach((ms, at) => this.timer(`note ${at}`, ms));
    this.timer('silence', setup.limits.silence);
    const offered = setup.tools.filter((tool) => reasonAgainst(tool) === undefined);
    const unoffered = setup.tools.flatMap((tool) => {
      const reason = reasonAgainst(tool);
      return reason === undefined ? [] : [{ name: tool.name, reason }];
    });
    state.handshake = {
      stage: 'first',
      result: null,
      offer: { accepted: [], rejected: [] },
      unoffered,
      names: {},
      askId: null,
      junk: null,
    };
    this.initialize(offered.map((tool) => ({ tool, as: tool.name })));
  }
  /** Ends the process and starts another that goes on with the same session: a stop must always work. */
  restart(): void {
    const { state } = this;
    if (find(state.links, AGENT) !== 'open') return;
    this.emit({ type: 'link.opening', note: t('The agent is not stopping.') });
    this.emit({ type: 'background.set', tasks: [] });
    state.child.next = 'restart';
    this.letGo();
    this.close(AGENT);
  }
  /** Settles everything that is open, because no answer can come any more. */
  letGo(): void {
    const { state } = this;
    this.endHandshake();
    for (const timer of [OFFER_RESTART, RESTART, 'record', 'closing']) this.timer(timer, null);
    this.settle('everything', 'withdrawn');
    state.queue.length = 0;
    state.unconfirmed = null;
    state.replaying = false;
  }
  leave(): void {
    const { state } = this;
    if (state.phase === 'left') return;
    const isRunning = state.turn?.by === 'user' && state.turn.phase === 'running' && !state.unconfirmed;
    state.queue.length = 0;
    state.phase = 'left';
    state.child.next = 'end';
    if (isRunning) {
      this.cancel();
      this.timer('grace', state.setup.limits.grace);
    } else this.hangUp();
  }
  hangUp(): void {
    this.timer('grace', null);
    this.letGo();
    if (find(this.state.links, AGENT)) this.close(AGENT);
    else this.state.phase = 'over';
  }
  closed(why: LinkEnd): void {
    const { state } = this;
    const { child } = state;
    this.letGo();
    this.timer('grace', null);
    state.turn = null;
    if (state.phase === 'left') state.phase = 'over';
    else if (child.next === 'restart') this.start({ history: false, sessionFlag: true });
    else if (child.sessionFlag && refusedSessionFlag(why)) this.start({ history: child.history, sessionFlag: false });
    else if (isKimiCode(why)) {
      child.ending = why;
      this.port(null, 'program', 'probe', { what: 'program' } satisfies Probe);
    } else this.end(why);
  }
  end(why: LinkEnd, program: { readonly file?: string; readonly version?: string } = {}): void {
    this.emit({ type: 'link.closed', ...whyClosed(why, { command: this.state.setup.command, ...program }), at: this.now });
    this.state.phase = 'over';
  }

  // --- the handshake: `initialize`, with everything that agents have been seen to answer, and not to answer (wire.md §3)

  initialize(tools: readonly { readonly tool: OfferedTool; readonly as: string }[]): void {
    const { handshake, setup } = this.state;
    if (!handshake) return;
    for (const { tool, as } of tools) put(handshake.names, as, tool.name);
    const external = tools.map(({ tool, as }) => ({ name: as, description: tool.description, parameters: { ...tool.parameters } }));
    this.call('initialize', {
      protocol_version: NEWEST_VERSION,
      client: { ...setup.client },
      capabilities: { supports_question: true, supports_plan_mode: true },
      ...(external.length > 0 ? { external_tools: external } : {}),
    });
  }
  initialized(result: InitializeResult | undefined, failed: Failure | undefined): void {
    const { handshake, setup } = this.state;
    if (!handshake) return;
    if (handshake.stage === 'renamed') return this.renamed(handshake, result, failed);
    const offered = setup.tools.filter((tool) => reasonAgainst(tool) === undefined);
    if (failed || !result) {
      if (failed?.code === codes.unknownMethod) return this.connected(WITHOUT_HANDSHAKE);
      if (failed?.code !== codes.badParams || offered.length === 0 || handshake.stage === 'bare') return this.handshakeFailed(failed);
      this.notice('warn', `${t('The agent does not support editor tools.')} ${failed.message.split('\n', 1)[0] ?? ''}`);
      handshake.stage = 'bare';
      handshake.unoffered.splice(0, Number.POSITIVE_INFINITY, ...offered.map(({ name }) => ({ name, reason: failed.message })));
      clear(handshake.names);
      return this.initialize([]);
    }
    handshake.result = result;
    if (handshake.stage === 'bare') return this.shakeHands(handshake, result);
    handshake.offer = offerOf(
      offered.map((tool) => tool.name),
      result,
    );
    const taken = (result.external_tools?.rejected ?? []).filter((one) => /conflict/i.test(one.reason ?? '')).map((one) => one.name);
    const again = offered.filter((tool) => taken.includes(tool.name));
    if (again.length === 0) return this.shakeHands(handshake, result);
    handshake.stage = 'renamed';
    this.initialize(again.map((tool) => ({ tool, as: renamedTool(tool.name) })));
  }
  /** The outcome of offering tools again under other names. What failed there leaves the first outcome as it is. */
  renamed(handshake: Handshake, result: InitializeResult | undefined, failed: Failure | undefined): void {
    if (result) {
      const again = this.state.setup.tools
        .filter((tool) => find(handshake.names, renamedTool(tool.name)) !== undefined)
        .map((tool) => tool.name);
      const { accepted, rejected } = offerOf(again.map(renamedTool), result);
      handshake.offer = {
        accepted: [...handshake.offer.accepted, ...accepted],
        rejected: [...handshake.offer.rejected.filter((one) => !again.includes(one.name)), ...rejected],
      };
    } else this.log('warn', `Offering tools under other names failed: ${failed?.message ?? ''}`);
    this.shakeHands(handshake, handshake.result ?? {});
  }
  shakeHands(handshake: Handshake, result: InitializeResult): void {
    // An agent that shakes hands is at least 1.1. Agents do not negotiate: the client adapts to the older of the two versions.
    const theirs = parseVersion(result.protocol_version ?? '') ?? { major: 1, minor: 1 };
    const ours = parseVersion(NEWEST_VERSION) ?? theirs;
    const isOther = theirs.major !== ours.major;
    if (isOther) {
      const text = t('The agent speaks version {0} of the protocol; Parley supports {1}.', result.protocol_version ?? '?', NEWEST_VERSION);
      this.notice('warn', text);
    }
    this.connected({
      version: isOther || isNewer(theirs, ours) ? ours : theirs,
      legacy: false,
      server: result.server ? { name: result.server.name, version: result.server.version || null } : null,
      commands: (result.slash_commands ?? []).map(({ name, description, aliases }) => ({
        name,
        description: description ?? '',
        aliases: aliases ?? [],
      })),
      names: handshake.names,
      offer: { accepted: handshake.offer.accepted, rejected: [...handshake.offer.rejected, ...handshake.unoffered] },
    });
  }
  connected(agent: WireAgent): void {
    const { state } = this;
    this.endHandshake();
    if (state.phase !== 'opening') return;
    state.agent = agent;
    state.hasPlanMode = this.has('planMode') || agent.commands.some((command) => command.name === 'plan');
    if (!state.child.history) return this.ready(agent);
    if (agent.legacy || !this.has('replay')) {
      this.recordMissing();
      return this.ready(agent);
    }
    this.emit({ type: 'link.opening', note: t('Loading an earlier conversation'), stops: true });
    state.replaying = true;
    state.heardBefore = state.heard;
    this.timer('record', state.setup.limits.historySilence);
    this.call('replay');
  }
  endHandshake(): void {
    const { state } = this;
    const { handshake } = state;
    if (!handshake) return;
    state.setup.limits.notes.forEach((_ms, at) => this.timer(`note ${at}`, null));
    this.timer('silence', null);
    this.drop('legacy');
    const ask = handshake.askId === null ? undefined : find(state.asks, handshake.askId);
    if (ask) this.closeAsk(ask, 'withdrawn');
    state.handshake = null;
  }
  handshakeFailed(failed: Failure | undefined): void {
    const { state } = this;
    this.endHandshake();
    // A process that has just ended shows first as a failed write. Its exit code and last words come with the end of the link.
    if (failed && failed.kind !== 'refused') {
      state.child.ending = { reason: failed.message };
      return this.timer('closing', state.setup.limits.closing);
    }
    const message = failed?.message ?? '';
    this.log('error', `The handshake failed: ${message}`);
    const reason = t('{0} could not start: {1}', state.setup.command, message);
    this.linkClosed(reason, ['restart', 'showLog', 'pickAgent']);
  }
  stillWaiting(at: number): void {
    const { handshake, setup } = this.state;
    if (!handshake) return;
    const seconds = Math.round((setup.limits.notes[at] ?? 0) / 1000);
    if (handshake.junk !== null) this.emit(junkWhileOpening(handshake.junk, 'Wire'));
    else this.emit({ type: 'link.opening', note: `${t('Starting')} (${seconds} s)` });
    if (at === 0) this.port(null, 'legacy', 'probe', { what: 'legacy' } satisfies Probe);
  }
  /** Asks what to do about an agent that does not answer. */
  silent(): void {
    const { handshake, setup } = this.state;
    if (!handshake) return;
    handshake.askId = this.newId();
    const label = t('The agent did not answer within {0} s.', Math.round(setup.limits.silence / 1000));
    const choices = [KEEP_WAITING(), START_AGAIN(), NO_HANDSHAKE()].map((one) => ({ label: one }));
    const fields = [{ id: 'what', label, choices }];
    this.ask({ kind: 'question', id: handshake.askId, ours: true, title: t('The agent does not answer.'), fields }, null);
  }
  answeredSilence(handshake: Handshake, ask: OpenAsk, answer: Answer): void {
    this.closeAsk(ask, 'answered');
    handshake.askId = null;
    const chosen = answer.kind === 'fields' ? answer.values.what?.[0] : undefined;
    if (chosen === START_AGAIN()) return this.restart();
    if (chosen === NO_HANDSHAKE()) return this.connected(WITHOUT_HANDSHAKE);
    this.timer('silence', this.state.setup.limits.silence);
  }
  junk(text: string): void {
    const { handshake } = this.state;
    this.log('warn', `Left out a line that is no message: ${text.slice(0, 200)}`);
    if (handshake) handshake.junk ??= text;
  }
  ready(agent: WireAgent): void {
    const { state } = this;
    const { setup } = state;
    if (state.phase !== 'opening') return;
    state.phase = 'ready';
    const { server } = agent;
    const offers: Offers = {
      images: true,
      ...(this.has('steer') ? { steer: true } : {}),
      ...(this.has('feedback') ? { feedback: true } : {}),
      history: true,
      ...(agent.legacy ? {} : { tools: agent.offer }),
    };
    const shown = { protocol: 'kimi-wire', name: server?.name ?? setup.command, ...(server?.version ? { version: server.version } : {}) };
    this.emit({ type: 'link.ready', agent: shown, offers });
    // Background tasks of the record ended with the process that ran them.
    if (Object.keys(state.background).length > 0) {
      clear(state.background);
      this.emit({ type: 'background.set', tasks: [] });
    }
    this.emit({ type: 'commands.set', commands: agent.commands });
    if (state.hasPlanMode) this.emit({ type: 'mode.set', mode: modeChoice(state.inPlanMode) });
    if (setup.asksOff) this.aboutApprovals('warn', t('The agent edits files and runs commands without asking you.'));
    if (agent.legacy && setup.tools.length > 0) {
      this.notice('info', t('The agent does not support editor tools.'));
    }
  }
  /** The agent's version has this. */
  has(feature: Feature): boolean {
    return this.state.agent !== null && atLeast(this.state.agent.version, SINCE[feature]);
  }

  // --- the record of an earlier conversation (wire.md §11)

  recordMissing(): void {
    this.notice('info', t('The agent remembers this conversation, but cannot show all of it.'));
  }
  recordCutShort(): void {
    this.notice('warn', t('The agent remembers this conversation, but cannot show all of it.'));
  }
  replayed(
    result: { readonly status: string; readonly events?: number | null | undefined } | undefined,
    failed: Failure | undefined,
  ): void {
    const { state } = this;
    if (!state.replaying || !state.agent) return;
    if (failed && failed.kind !== 'refused') return this.handshakeFailed(failed);
    state.replaying = false;
    this.timer('record', null);
    this.timer(OFFER_RESTART, null);
    if (result?.status === 'cancelled') this.recordCutShort();
    if (failed) this.recordMissing();
    // A server begins a session of any name that it does not know.
    if (result?.status === 'finished' && result.events === 0) this.notifyResumeFailed();
    this.cutOff();
    this.ready(state.agent);
  }
  /** Another process goes on with the session: the rest of the record would be taken for the present. */
  giveUpReplay(): void {
    this.cutOff();
    this.recordCutShort();
    this.restart();
  }

  // --- requests, replies and timers

  call(method: keyof typeof methods, params?: object, about?: string): void {
    const call = about === undefined ? method : `${method} ${about}`;
    this.do({ do: 'request', link: AGENT, call, method, ...(params ? { params } : {}) });
  }
  reply(call: string, raw: unknown, error: Failure | undefined): void {
    const { state } = this;
    switch (call) {
      case 'initialize': {
        const { result, failed } = readReply(
          call,
          error ? raw : readInitialize(raw, (what) => this.log('warn', `Left out of the handshake: ${what}`)),
          error,
        );
        return this.initialized(result, failed);
      }
      case 'replay': {
        const { result, failed } = readReply(call, raw, error);
        return this.replayed(result, failed);
      }
      case 'legacy':
        return raw === true && state.handshake ? this.connected(WITHOUT_HANDSHAKE) : undefined;
      case 'program':
        return this.end(state.child.ending ?? { reason: '' }, error ? {} : (raw as object));
    }
  }
  elapsed(timer: string): void {
    const { state } = this;
    if (timer.startsWith('note ')) return this.stillWaiting(Number(timer.slice(5)));
    switch (timer) {
      case 'silence':
        return this.silent();
      case 'record':
        if (state.heard === state.heardBefore) return this.giveUpReplay();
        state.heardBefore = state.heard;
        return this.timer('record', state.setup.limits.historySilence);
      case 'grace':
        return this.hangUp();
      case 'closing':
        if (state.phase === 'opening') this.handshakeFailed({ kind: 'refused', message: state.child.ending?.reason ?? '' });
        return;
    }
  }
}

/** An agent from before 1.1. */
const WITHOUT_HANDSHAKE: WireAgent = {
  version: LEGACY,
  legacy: true,
  server: null,
  commands: [],
  names: {},
  offer: { accepted: [], rejected: [] },
};

/** Why a tool is not offered: one bad tool fails the whole handshake of real agents (wire.md §4). */
function reasonAgainst(tool: OfferedTool): string | undefined {
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name)) return 'The name has characters that models do not take';
  if (tool.description.trim() === '') return 'It has no description';
  return tool.parameters.type === 'object' ? undefined : 'Its parameters are not an object';
}
function renamedTool(name: string): string {
  return `ide_${name}`;
}
/** The result of an offer. An agent that does not list any has accepted all. */
function offerOf(names: readonly string[], result: InitializeResult): ToolOffer {
  const rejected = (result.external_tools?.rejected ?? []).map(({ name, reason }) => ({
    name,
    reason: reason?.split('\n', 1)[0] || 'rejected',
  }));
  const isRejected = new Set(rejected.map((one) => one.name));
  return { accepted: result.external_tools?.accepted ?? names.filter((name) => !isRejected.has(name)), rejected };
}
