import type { Intent } from '../../session/intents.ts';
import type { Channel } from '../../transport/channel.ts';
import { linesLink } from '../../transport/linesLink.ts';
import type { Link, LinkEvents } from '../../transport/link.ts';
import { type ProcessOptions, type ProcessSpec, processChannel } from '../../transport/process.ts';
import type { Adapter, AdapterContext, Hint, Past, Protocol } from '../adapter.ts';
import { type Driver, drive } from '../driver.ts';
import { readText } from '../fileNow.ts';
import type { Files } from '../ports.ts';
import { runTool } from '../runTool.ts';
import { anyErrorLine, type Line, readRequest } from './codec.ts';
import { Hints } from './hints.ts';
import { copyIn, copyKey, readTalkOptions } from './launch.ts';
import { qwenMachine, TOO_LONG } from './machine.ts';
import type { MessageBefore } from './message.ts';
import { PEERS, productOf } from './quirks.ts';
import { conversationIn, directly, messageBefore, type ProcessLaunch, pastConversations, recordFolder } from './record.ts';
import { newQwenState, type QwenState } from './state.ts';

/** Qwen Code's structured input and output, in both dialects, and Claude Code, which speaks one of them. */
export const qwen: Protocol = {
  title: 'Qwen Code / Claude Code (stream-json)',
  launch: 'process',
  open(launch, scene) {
    if (launch.kind !== 'process') throw new Error('This protocol starts a process');
    return new QwenAdapter(launch, scene);
  },
};

/** Bytes in one line. */
const LINE_LIMIT = 64 * 1024 * 1024;
/** Milliseconds from the end of the agent's input to SIGTERM, and to SIGKILL. */
const PATIENCE = { end: 3_000, term: 5_000 };

/** Starts a process; another one in tests. */
type Connect = (spec: ProcessSpec, options: ProcessOptions) => Channel;
/** The file requests of the machine. */
type FileArgs =
  | { readonly do: 'read'; readonly path: string }
  | { readonly do: 'write'; readonly path: string; readonly text: string; readonly from: string | null; readonly real?: string }
  | { readonly do: 'record'; readonly key: string }
  | ({ readonly do: 'before'; readonly key: string } & Pick<MessageBefore, 'turnId' | 'prompt'>);

/** The machine behind the interface of all protocols: its process, files and tools, and queries that change nothing. */
export class QwenAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #driver: Driver<QwenState>;
  readonly #hints: Hints;
  /** Where the agent keeps its conversations, if it does. */
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
      const program = options.direct ? directly({ ...launch, args }) : { command: launch.command, args };
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
    this.#driver = drive(qwenMachine, state, {
      now: context.now,
      emit: context.emit,
      log,
      links: { agent: open },
      ports: {
        tool: ({ name, input }: { name: string; input: unknown }, signal) => runTool(ports.tools, { name, input, signal, log }),
        file: (args: FileArgs) => fileAnswer(args, ports.files, [launch.cwd], folder),
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

/** Carries out a file request of the machine; `folder` is where the agent keeps its conversations, if it does. */
async function fileAnswer(args: FileArgs, files: Files, roots: readonly string[], folder: string | undefined): Promise<unknown> {
  switch (args.do) {
    case 'read':
      return readText(files, args.path, roots);
    case 'write':
      return files.write(args.path, args.text, args.from ?? undefined, args.real);
    case 'record':
      return folder === undefined ? [] : conversationIn(folder, recordOf(args.key));
    case 'before': {
      const found = folder === undefined ? null : await messageBefore(folder, recordOf(args.key), args.turnId);
      return { turnId: args.turnId, prompt: args.prompt, found };
    }
  }
}

/** The conversation to read: a copy that is yet to be made is that of its original. */
function recordOf(key: string): string {
  return copyIn(key) ?? key;
}
