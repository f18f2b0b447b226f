import { t } from '../../base/l10n.ts';
import { Lifetime } from '../../base/lifetime.ts';
import { messageOf } from '../../base/log.ts';
import type { Intent } from '../../session/intents.ts';
import type { Content, Remedy, SessionOption } from '../../session/model.ts';
import { HttpFailure } from '../../transport/httpFailure.ts';
import type { Adapter, AdapterContext, Launch } from '../adapter.ts';
import type { OfferedTools } from '../offeredTools.ts';
import { TextCoalescer } from '../textCoalescer.ts';
import { Allowances } from './allowances.ts';
import { type Peer, readCard, UnfitAgent } from './card.ts';
import { runCommand } from './commandRun.ts';
import { type CommandTree, findCommands } from './commands.ts';
import { Credentials } from './credentials.ts';
import { ExtensionFolder, harmless, lend, VARIABLE } from './editorTools.ts';
import { fetchCard } from './fetchCard.ts';
import type { LeftTurn } from './kept.ts';
import { Known } from './known.ts';
import { comeBack, type Memory, Past, resumeKey } from './memory.ts';
import { promptParts } from './messages.ts';
import { PlainText } from './plainText.ts';
import { forgetPush, registerPush } from './pushConfig.ts';
import { openPushDoor } from './pushDoor.ts';
import type { Incoming } from './records.ts';
import { lookUp } from './recover.ts';
import { Rpc, StatusError } from './rpc.ts';
import { type Server, startServer } from './server.ts';
import { recall, takeUp } from './takeUp.ts';
import { TIMING, type Timing } from './timing.ts';
import { Turn } from './turn.ts';

/** A conversation with an A2A agent: somewhere on the network, or started here and spoken to over loopback. */
export function openA2a(launch: Launch, scene: AdapterContext, timing: Timing = TIMING): Adapter {
  const growth = new TextCoalescer(scene.emit);
  return new A2aAdapter(launch, { ...scene, emit: (event) => growth.emit(event) }, timing);
}

class A2aAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #scene: AdapterContext;
  readonly #timing: Timing;
  readonly #life = new Lifetime();
  readonly #plainText: PlainText;
  #end: () => void = () => {};
  #server: Server | undefined;
  #credentials: Credentials | undefined;
  #memory: Memory | undefined;
  #turn: Turn | undefined;
  #tree: CommandTree | undefined;
  #lent: OfferedTools | undefined;
  #folder: ExtensionFolder | undefined;
  #leaving = false;
  #versionChanged = false;
  #looking = false;
  #newsWaits = false;

  constructor(launch: Launch, scene: AdapterContext, timing: Timing) {
    this.#scene = scene;
    this.#timing = timing;
    this.#plainText = new PlainText(scene);
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    const stop = () => this.dispose();
    scene.signal.addEventListener('abort', stop, { once: true });
    this.#life.onEnd(() => scene.signal.removeEventListener('abort', stop));
    // Not from inside open: the caller does not have the adapter yet.
    queueMicrotask(() => void this.#begin(launch).catch((error: unknown) => this.#fail(error)));
  }

  send(intent: Intent): void {
    switch (intent.type) {
      case 'prompt':
        return this.#prompt(intent.turnId, intent.content);
      case 'command':
        return this.#command(intent);
      case 'cancel':
        return this.#turn?.stop();
      case 'answer':
        if (this.#plainText.answer(intent.askId, intent.answer)) return;
        if (!this.#credentials?.answer(intent.askId, intent.answer)) this.#turn?.answer(intent.askId, intent.answer);
        return;
      case 'setOption':
        if (ExtensionFolder.isOption(intent.optionId)) void this.#turnTools(intent.value === true);
        else if (intent.value === false) this.#memory?.remembered.revoke(intent.optionId);
        return;
      default:
        return;
    }
  }

  dispose(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#turn?.leave();
    this.#life.dispose();
    const server = this.#server;
    if (!server) return void (this.#memory ? forgetPush(this.#memory) : Promise.resolve()).then(() => this.#end());
    server.dispose();
    void server.ended.then(() => this.#end());
  }

  async #begin(launch: Launch): Promise<void> {
    if (this.#leaving) return;
    const base = (launch.kind === 'http' ? launch.url : await this.#start(launch)).replace(/\/$/, '');
    if (this.#leaving) return;
    if (!(await this.#plainText.mayUse(new URL(base))))
      throw new UnfitAgent(t('{0} was not spoken to: the connection is not encrypted.', base));
    if (this.#leaving) return;
    const headers = launch.kind === 'http' ? launch.headers : {};
    const credentials = new Credentials(this.#scene, new URL(base).origin, headers);
    this.#credentials = credentials;
    const rpc = this.#life.own(new Rpc(this.#scene, credentials, this.#timing));
    const more = launch.options?.extensions?.split(/[\s,]+/).filter(Boolean) ?? [];
    const described = readCard(await fetchCard(rpc, base), base, more);
    credentials.learn(described.schemes, described.security);
    rpc.target = described;
    const tree = await findCommands({ peer: described, rpc, base: new URL(base).origin }).catch((error: unknown) => {
      if (error instanceof StatusError && error.status === 401) throw error;
      return undefined;
    });
    // The shipped server under another name is known by what it serves (a2a.md §5).
    const shipped = described.dialect === 'plain' && described.remarks.length === 0 && tree?.by === 'rest';
    const peer: Peer = shipped ? { ...described, dialect: 'gemini' } : described;
    const push = peer.push && launch.options?.push !== 'off' ? await this.#openPushDoor() : undefined;
    const cwd = launch.options?.workspace ?? launch.cwd;
    const memory: Memory = {
      peer,
      rpc,
      cwd,
      base: new URL(base).origin,
      newer: Object.keys(peer.schemes).length > 0 && peer.dialect === 'gemini',
      camel: false,
      task: undefined,
      contextId: undefined,
      completed: false,
      settled: false,
      tellPast: false,
      notes: [],
      pushSent: false,
      pushed: undefined,
      pushRefused: false,
      remembered: new Allowances(cwd, harmless(this.#scene, this.#lent), () => this.#showOptions()),
      known: new Known(),
      past: new Past(this.#scene.past),
      aside: undefined,
      model: '',
      modelChanged: () => this.#showOptions(),
      changeVersion: () => this.#changeVersion(memory, base, more),
      ...(push ? { push } : {}),
    };
    const left = recall(memory, this.#scene.past ?? []);
    const found = await takeUp(memory, this.#scene.resume?.key ?? '', left);
    if (typeof found === 'string') this.#notice('info', found);
    const now = typeof found === 'string' ? undefined : found;
    if (launch.kind === 'process' && this.#lent && peer.dialect === 'gemini') {
      this.#folder = new ExtensionFolder(launch, this.#lent);
      await this.#folder.look().catch((error: unknown) => this.#scene.log.warn(`The folder for tools: ${messageOf(error)}`));
    }
    if (this.#leaving) return;
    this.#memory = memory;
    this.#tree = tree;
    // Before anything else is sent that waited for the link.
    if (now && left) this.#reopen(memory, left, now);
    this.#ready(memory);
    if (now) void registerPush(memory, this.#scene);
    if (now && !left) this.#catchUp(memory, now);
  }

  /** What the agent did while nobody listened becomes a turn. */
  #catchUp(memory: Memory, now: Incoming): void {
    if (this.#turn || this.#leaving || memory.peer.dialect === 'gemini') return;
    if (!memory.known.hasNews(now, (text) => memory.past.has(text))) return;
    this.#newTurn(this.#scene.newId(), [], memory, { goesOn: true })?.catchUp(now);
  }

  /** The turn that the end of a window broke off goes on: with what was missed, and live where the agent is still at work. */
  #reopen(memory: Memory, left: LeftTurn, now: Incoming): void {
    if (!memory.known.isIn(now)) return comeBack(memory);
    const { turn } = left;
    this.#scene.emit({ type: 'turns.removed', from: turn.id });
    const again = this.#newTurn(this.#scene.newId(), turn.prompt, memory, { goesOn: true, at: turn.startedAt });
    again?.reopen(left);
    again?.catchUp(now);
  }

  async #news(record: Incoming): Promise<void> {
    const memory = this.#memory;
    if (!memory || this.#leaving) return;
    if (this.#turn) return this.#turn.news(record);
    // They come in bunches: one look is enough for all that come before it ends, and one after.
    this.#newsWaits = this.#looking;
    if (this.#looking) return;
    this.#looking = true;
    const now = await lookUp(memory).catch(() => undefined);
    this.#looking = false;
    if (now) this.#catchUp(memory, now);
    if (this.#newsWaits) void this.#news(record);
  }

  /** The card may have been wrong about what is spoken, or the agent may have changed since (a2a.md §16). */
  async #changeVersion(memory: Memory, base: string, more: readonly string[]): Promise<boolean> {
    if (this.#versionChanged) return false;
    this.#versionChanged = true;
    const { peer, rpc } = memory;
    const now = await fetchCard(rpc, base)
      .then((card) => readCard(card, base, more))
      .catch(() => peer);
    const { wire, endpoint } = now.wire === peer.wire ? { ...peer, wire: peer.wire === '1.0' ? ('0.3' as const) : ('1.0' as const) } : now;
    memory.peer = { ...peer, wire, endpoint };
    rpc.target = memory.peer;
    this.#scene.log.info(`The agent does not know the methods of A2A ${peer.wire}; those of ${wire} are tried.`);
    return true;
  }

  async #start(launch: Extract<Launch, { kind: 'process' }>): Promise<string> {
    this.#scene.emit({ type: 'link.opening', note: t('Starting the agent') });
    this.#lent = await lend(this.#scene);
    if (this.#lent) this.#life.own(this.#lent);
    if (this.#leaving) throw new Error('left');
    const env = this.#lent ? { [VARIABLE]: this.#lent.address, ...launch.env } : launch.env;
    const server = await startServer({ ...launch, env }, this.#scene.log, this.#scene.name);
    this.#server = server;
    if (this.#leaving) {
      server.dispose();
      void server.ended.then(() => this.#end());
      throw new Error('left');
    }
    void server.ended.then((closed) => {
      const detail = closed.stderr || server.tail();
      // The shipped server's own words for it (a2a.md §1).
      const keyless = /provide a GEMINI_API_KEY/.test(server.tail() + closed.stderr);
      if (!keyless) return this.#closed(closed.reason, detail, ['restart', 'showLog']);
      const reason = t('The agent ended: it needs GEMINI_API_KEY, or USE_CCPA for a Google login, in the "env" of its settings.');
      this.#closed(reason, detail, ['openSettings', 'restart']);
    });
    const address = await server.address;
    if (!server.onLoopback) {
      this.#notice('warn', t('This agent may be reachable from the network: it could not be held to this machine.'));
    }
    return address;
  }

  async #openPushDoor() {
    try {
      return this.#life.own(
        await openPushDoor(
          (taskId) => this.#memory?.task?.id === taskId,
          (record) => void this.#news(record),
        ),
      );
    } catch (error) {
      this.#scene.log.info(`No place for notifications: ${messageOf(error)}`);
      return undefined;
    }
  }

  #ready(memory: Memory): void {
    const { peer } = memory;
    for (const remark of peer.remarks) this.#notice('warn', remark);
    if (peer.dialect === 'plain') {
      this.#notice('info', t('{0} is a plain A2A agent: you can talk to it, but its tools, approvals and diffs are not shown.', peer.name));
    }
    if (this.#server?.hasGit === false && peer.dialect === 'gemini' && !memory.newer) {
      this.#notice('warn', t('Git was not found: this agent needs it to change files, and its task fails without it.'));
    }
    if (this.#tree) this.#scene.emit({ type: 'commands.set', commands: this.#tree.commands });
    this.#scene.emit({
      type: 'link.ready',
      agent: { protocol: 'a2a', name: peer.name, ...(peer.version ? { version: peer.version } : {}) },
      offers: peer.dialect === 'plain' ? {} : { feedback: true, editableApprovals: true },
    });
    this.#showOptions();
  }

  #showOptions(): void {
    const options = [
      ...modelOption(this.#memory?.model ?? ''),
      ...(this.#folder ? [this.#folder.option] : []),
      ...(this.#memory?.remembered.options ?? []),
    ];
    if (!this.#leaving) this.#scene.emit({ type: 'options.set', options });
  }

  async #turnTools(on: boolean): Promise<void> {
    try {
      await this.#folder?.turn(on);
      this.#notice('info', on ? t('The agent finds the editor’s tools with its next task.') : t('The folder was removed.'));
    } catch (error) {
      this.#notice('warn', t('The folder could not be changed: {0}', messageOf(error)));
    }
    this.#showOptions();
  }

  #prompt(turnId: string, content: readonly Content[]): void {
    const memory = this.#memory;
    if (!memory) return;
    const turn = this.#newTurn(turnId, content, memory);
    if (!turn) return;
    const parts = promptParts(memory, content);
    for (const one of content) if (one.type === 'text') memory.past.add('User', one.text);
    void turn.prompt(parts);
  }

  #command({ turnId, path, args }: Extract<Intent, { type: 'command' }>): void {
    const memory = this.#memory;
    if (!memory) return;
    const turn = this.#newTurn(turnId, [{ type: 'text', text: [`/${path.join(' ')}`, args].filter(Boolean).join(' ') }], memory);
    if (turn) void runCommand(turn, { memory, tree: this.#tree, scene: this.#scene }, path, args);
  }

  #newTurn(turnId: string, content: readonly Content[], memory: Memory, how: HowItBegins = {}): Turn | undefined {
    const { emit, now, log } = this.#scene;
    if (this.#turn || this.#leaving) {
      log.warn('A prompt came while a turn was running; it is left out.');
      return undefined;
    }
    emit({ type: 'turn.started', turnId, at: how.at ?? now(), prompt: content });
    if (!how.goesOn) memory.known.begin();
    this.#credentials?.freshen();
    const turn = new Turn(turnId, { scene: this.#scene, memory, timing: this.#timing });
    this.#turn = turn;
    void turn.over.then((end) => {
      if (this.#turn === turn) this.#turn = undefined;
      comeBack(memory);
      if (this.#leaving) return;
      void registerPush(memory, this.#scene);
      if (memory.task || memory.contextId) {
        emit({ type: 'resume.set', key: resumeKey(memory) });
      }
      emit({ type: 'turn.ended', turnId, at: now(), ...end });
    });
    return turn;
  }

  #notice(level: 'info' | 'warn', text: string): void {
    this.#scene.emit({ type: 'notice', notice: { level, text } });
  }

  #fail(error: unknown): void {
    const tail = this.#server?.tail();
    const settings =
      error instanceof UnfitAgent || error instanceof StatusError || (error instanceof HttpFailure && error.kind === 'header');
    const next: readonly Remedy[] = settings ? ['restart', 'openSettings'] : ['restart', 'showLog'];
    this.#closed(messageOf(error), tail, next);
  }

  #closed(reason: string, detail: string | undefined, next: readonly Remedy[]): void {
    if (this.#leaving) return;
    this.#scene.emit({ type: 'link.closed', reason, ...(detail ? { detail } : {}), next, at: this.#scene.now() });
    this.dispose();
  }
}

interface HowItBegins {
  /** What was shown last belongs to it, too. */
  readonly goesOn?: true;
  readonly at?: number;
}

/** Seen, not chosen: the agent offers no other. */
function modelOption(model: string): readonly SessionOption[] {
  if (model === '') return [];
  return [{ id: 'model', name: t('Model'), about: 'model', kind: 'choice', current: model, choices: [{ value: model, name: model }] }];
}
