import type { Intent } from '../../session/intents.ts';
import { linesLink } from '../../transport/lines.ts';
import type { Link, LinkEvents } from '../../transport/link.ts';
import { processChannel } from '../../transport/process.ts';
import type { Adapter, AdapterContext, Hint, Past, ProcessLaunch, Protocol } from '../adapter.ts';
import { Driver } from '../driver.ts';
import { runTool } from '../runTool.ts';
import { anyErrorLine, hintCancel, hintRequest, type Line, promptName, readRequest } from './codec.ts';
import { copyIn, copyKey, readTalkOptions } from './launch.ts';
import { qwenMachine, TOO_LONG } from './machine.ts';
import { refusalOf } from './messageCodec.ts';
import { PEERS, productOf } from './quirks.ts';
import { fileAnswer, pastConversations, type QwenFileRequest, recordFolder, withoutWrapper } from './record.ts';
import { resultHint } from './schema.ts';
import { newQwenState, type QwenState } from './state.ts';

/** Qwen Code's structured input and output, in both dialects, and Claude Code, which speaks one of them. */
export const qwen: Protocol = {
  title: 'Qwen Code / Claude Code (stream-json)',
  launch: 'process',
  open(launch, context) {
    if (launch.kind !== 'process') throw new Error('This protocol starts a process');
    return new QwenAdapter(launch, context);
  },
};

/** Bytes in one line. */
const LINE_LIMIT = 64 * 1024 * 1024;
/** Milliseconds from the end of the agent's input to SIGTERM, and to SIGKILL. */
const PATIENCE = { end: 3_000, term: 5_000 };

/** Starts a process; another one in tests. */
type Connect = typeof processChannel;

/** The machine behind the interface of all protocols: its process, files and tools, and queries that change nothing. */
export class QwenAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #driver: Driver<QwenState>;
  readonly #hints: Hints;
  /** The folder in which the agent keeps its conversations, if it does. */
  readonly #folder: string | undefined;

  constructor(launch: ProcessLaunch, context: AdapterContext, connect: Connect = processChannel) {
    const { ports, log, trace } = context;
    const product = productOf(launch.command, launch.args);
    const called = context.name || PEERS[product].name;
    const { options, problems } = readTalkOptions(launch.options ?? {}, launch.args);
    const folder = recordFolder(launch);
    const hints = new Hints(launch.cwd);
    this.#folder = folder;
    const keeps = folder === undefined ? {} : ({ history: true, fork: true } as const);
    const state: QwenState = {
      ...newQwenState(`${context.newId()}.`, {
        command: launch.command,
        args: launch.args,
        cwd: launch.cwd,
        product,
        called,
        client: context.client,
        options,
        problems,
        resume: context.resume ?? null,
        tools: ports.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
        keeps: { ...keeps, ...(folder !== undefined && PEERS[product].checkpoints ? { edit: true } : {}) },
      }),
      firstTurn: context.past?.[0]?.id ?? null,
      brokeOff: context.past?.at(-1)?.cutOff === true,
    };
    const open = (params: unknown, events: LinkEvents): Link => {
      const { args } = params as { readonly args: readonly string[] };
      const program = options.direct ? withoutWrapper({ ...launch, args }) : { command: launch.command, args };
      const spec = { name: called, ...program, env: { ...PEERS[product].env, ...launch.env }, cwd: launch.cwd };
      const onTooLong = (limit: number) => events.message(TOO_LONG, limit);
      const channel = connect(spec, { log, patience: PATIENCE, limit: LINE_LIMIT, onTooLong });
      const message = (method: string, line: unknown) => {
        events.message(method, line);
        if (method !== TOO_LONG) hints.take(line as Line);
      };
      const link = linesLink(channel, { ...events, message }, { trace, requestId: (line) => readRequest(line)?.id, refusal: anyErrorLine });
      hints.opened(link);
      return link;
    };
    this.#driver = new Driver(qwenMachine, state, {
      now: context.now,
      emit: context.emit,
      log,
      links: { agent: open },
      ports: {
        tool: ({ name, input }: { name: string; input: unknown }, signal) => runTool(ports.tools, { name, input, signal, log }),
        file: (args: QwenFileRequest) => fileAnswer(args, ports.files, [launch.cwd], folder),
      },
    });
    this.#hints = hints;
    this.ended = this.#driver.ended.then(() => hints.end());
    this.#driver.feed({ on: 'start' });
  }

  send(intent: Intent): void {
    if (intent.type === 'prompt' || intent.type === 'command') this.#hints.cancel();
    this.#driver.feed({ on: 'intent', intent });
  }

  /** The message dialect knows no hints. */
  hints(text: string, cursor: number): Promise<readonly Hint[]> {
    const { envelope } = this.#driver.state.agent ?? {};
    return envelope ? this.#hints.ask(envelope.session, text, cursor) : Promise.resolve([]);
  }

  async history(): Promise<readonly Past[]> {
    const all = this.#folder === undefined ? [] : await pastConversations(this.#folder);
    return all.filter((past) => past.key !== this.#driver.state.key);
  }

  /** The agent makes the copy when it is opened. */
  async fork(): Promise<string> {
    const { key } = this.#driver.state;
    if (key === null) throw new Error('There is no conversation to copy yet.');
    return copyKey(copyIn(key) ?? key);
  }

  dispose(): void {
    this.#driver.feed({ on: 'leave' });
  }
}

/** Milliseconds an answer is listened for; what we know ourselves is shown meanwhile. */
const HINT_PATIENCE = 10_000;

interface Token {
  readonly trigger: 'slash' | 'at';
  readonly from: number;
  readonly text: string;
}
interface Asked {
  readonly id: string;
  /** The name of the session at the time of the request. */
  readonly session: string;
  readonly token: Token;
  readonly settle: (found: readonly Hint[]) => void;
  readonly refuse: (why: Error) => void;
  timer: NodeJS.Timeout;
}

/** Live suggestions while a user types a command or a reference (docs/protocols/qwen.md §4.6). One request at a time; a late answer is dropped. */
export class Hints {
  readonly #cwd: string;
  #link: Link | undefined;
  #asked: Asked | undefined;
  #count = 0;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** The agent was started; what it is asked from now on goes there. */
  opened(link: Link): void {
    this.#link = link;
  }

  /** Completions of the whole text; none when the caret is in no command and no reference. */
  async ask(session: string, text: string, cursor: number): Promise<readonly Hint[]> {
    this.cancel();
    const token = tokenAt(text, cursor);
    if (!token) return [];
    const found = await this.#request(session, token);
    const sign = token.trigger === 'at' ? '@' : (token.text[0] ?? '/');
    return found.map(({ label, value, description }) => {
      const whole = value.startsWith(sign) ? value : `${sign}${value}`;
      // One goes on typing in a folder, and after anything else.
      const gap = whole.endsWith('/') ? '' : ' ';
      return {
        label,
        value: `${text.slice(0, token.from)}${whole}${gap}${text.slice(cursor).trimStart()}`,
        ...(description === undefined ? {} : { description }),
      };
    });
  }

  /** A line of the agent, which may be an answer. */
  take(line: Line): void {
    const asked = this.#asked;
    const result = asked && line.type === 'result/command_hint' ? resultHint.safeParse(line).data : undefined;
    if (!result) return;
    if (!asked || (result.trigger && result.trigger !== asked.token.trigger)) return;
    // A peer that does not echo our id is believed while the newest request has that trigger.
    const echoed = result.prompt_id ?? asked.id;
    if (echoed !== asked.id && /########preview-\d+$/.test(echoed)) return;
    if (result.status === 'loading') {
      clearTimeout(asked.timer);
      asked.timer = setTimeout(() => this.#settle(asked, []), HINT_PATIENCE);
      return;
    }
    if (result.status === 'error') return this.#refuse(asked, refusalOf(result.message));
    this.#settle(
      asked,
      (result.suggestions ?? []).map(({ label, value, description }) => ({ label, value, ...(description ? { description } : {}) })),
    );
  }

  /** Withdraws the open request. */
  cancel(): void {
    const asked = this.#asked;
    if (!asked) return;
    this.#link?.notify('line', hintCancel(asked.session, asked.id));
    this.#settle(asked, []);
  }

  end(): void {
    if (this.#asked) this.#settle(this.#asked, []);
  }

  #request(session: string, token: Token): Promise<readonly Hint[]> {
    this.#count += 1;
    const id = promptName(session, `preview-${this.#count}`);
    return new Promise((settle, refuse) => {
      const asked: Asked = { id, session, token, settle, refuse, timer: setTimeout(() => this.#settle(asked, []), HINT_PATIENCE) };
      this.#asked = asked;
      const { trigger, text } = token;
      const context = { cwd: this.#cwd, selected_text: '' };
      this.#link?.notify('line', hintRequest({ session_id: session, prompt_id: id, trigger, text, cursor: text.length, context }));
    });
  }

  #settle(asked: Asked, found: readonly Hint[]): void {
    this.#over(asked);
    asked.settle(found);
  }

  #refuse(asked: Asked, why: string): void {
    this.#over(asked);
    asked.refuse(new Error(why));
  }

  #over(asked: Asked): void {
    clearTimeout(asked.timer);
    if (this.#asked === asked) this.#asked = undefined;
  }
}

/** The command at the beginning of the text, or the reference the caret is in. A backslash keeps a space inside. */
export function tokenAt(text: string, cursor: number): Token | undefined {
  const before = text.slice(0, cursor);
  const slash = /^[/?][^\n]*$/.exec(before);
  if (slash) return { trigger: 'slash', from: 0, text: before };
  const at = /(?:^|\s)(@(?:\\.|[^\s\\])*)$/.exec(before);
  return at?.[1] === undefined ? undefined : { trigger: 'at', from: cursor - at[1].length, text: at[1] };
}
