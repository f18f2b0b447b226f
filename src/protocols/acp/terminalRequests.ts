import { existsSync } from 'node:fs';
import path from 'node:path';
import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { ApprovalDetail, TurnId } from '../../session/model.ts';
import { placeOf } from '../paths.ts';
import type { Exit, TerminalHandle, TerminalSpec, Terminals } from '../ports.ts';
import type { OpenAsks } from './asks.ts';
import { INTERNAL, INVALID_PARAMS, NOT_FOUND, refusal } from './faults.ts';
import type { Against } from './refused.ts';
import type { Turns } from './turns.ts';

/** How much output is kept for the agent at most, in bytes, whatever it asks for. */
const CEILING = 16 * 1024 * 1024;
const DEFAULT_LIMIT = 1024 * 1024;
/** Commands one session may have running at a time, and ended ones kept for an agent that has not released them. */
const MOST = 64;
const MOST_ENDED = 256;

const REJECTED: Readonly<Record<Against, (line: string) => string>> = {
  command: (line) => `The user has rejected this command: ${line}`,
  file: (line) => `The user has rejected a change of a file this command names, and did not allow the command: ${line}`,
};
const STOPPED = 'The user has stopped this: the command was not run.';

export interface TerminalScene {
  readonly terminals: Terminals;
  readonly asks: OpenAsks;
  readonly roots: () => readonly string[];
  /** What the user has rejected and stopped. */
  readonly turns: Pick<Turns, 'current' | 'stopped'>;
  /** A command runs: it is to be seen, whether a call shows it or not. */
  readonly started: (id: string, command: string, exited: Promise<Exit>) => void;
  readonly emit: (event: SessionEvent) => void;
  readonly newId: () => string;
}

interface Request {
  readonly command: string;
  readonly args?: readonly string[] | null | undefined;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null | undefined;
  readonly cwd?: string | null | undefined;
  readonly outputByteLimit?: number | null | undefined;
}

/** terminal/* (acp.md §10.4). What a terminal has printed stays in the session after it was released. */
export class TerminalRequests {
  readonly #scene: TerminalScene;
  readonly #open = new Map<string, TerminalHandle>();
  /** Those of them whose commands have ended, oldest first. */
  readonly #done = new Set<string>();
  #starting = 0;
  readonly #released = new Set<string>();
  /** In which turn an open one was asked for, by its id. */
  readonly #madeIn = new Map<string, TurnId>();
  /** Those the user has stopped. */
  readonly #stopped = new Set<string>();
  /** Folders outside the workspace that the user let commands run in, or not. */
  readonly #outside = new Map<string, boolean>();
  #ended = false;

  constructor(scene: TerminalScene) {
    this.#scene = scene;
  }

  async create(request: Request, signal: AbortSignal): Promise<{ terminalId: string }> {
    const turnId = this.#scene.turns.current?.id;
    const cwd = request.cwd ?? this.#scene.roots()[0];
    const args = request.args ?? [];
    const isOutside = cwd !== undefined && (await this.#isOutside(cwd));
    if (this.#scene.turns.stopped) throw refusal(INTERNAL, STOPPED);
    const line = [request.command, ...args].join(' ');
    const refused = this.#scene.turns.current?.refused;
    const against = refused?.against(line);
    if (against !== undefined) {
      if (!(await this.#mayRunAfterAll(against, line, cwd, signal))) throw refusal(INTERNAL, REJECTED[against](line));
      refused?.remove([{ type: 'command', command: line }], cwd ?? '');
    }
    if (isOutside && !(await this.#mayRun(line, cwd, signal))) {
      throw refusal(INTERNAL, `The user did not allow commands outside the workspace, in ${cwd}`);
    }
    const spec: TerminalSpec = {
      command: request.command,
      // Without arguments the command is a line for the shell; with them it is never put together for one.
      ...(args.length > 0 ? { args } : {}),
      ...(cwd === undefined ? {} : { cwd }),
      // No pager may wait for a key.
      env: { PAGER: 'cat', GIT_PAGER: 'cat', ...Object.fromEntries((request.env ?? []).map(({ name, value }) => [name, value])) },
      limit: Math.min(CEILING, Math.max(0, Math.floor(request.outputByteLimit ?? DEFAULT_LIMIT))),
    };
    if (this.#open.size - this.#done.size + this.#starting >= MOST) throw refusal(INTERNAL, `More than ${MOST} commands are running.`);
    this.#starting += 1;
    const handle = await this.#start(spec).finally(() => {
      this.#starting -= 1;
    });
    if (this.#ended) {
      handle.release();
      throw refusal(INTERNAL, 'The session has ended.');
    }
    if (this.#scene.turns.stopped) {
      handle.release();
      throw refusal(INTERNAL, STOPPED);
    }
    this.#open.set(handle.id, handle);
    if (turnId !== undefined) this.#madeIn.set(handle.id, turnId);
    this.#scene.emit({ type: 'terminal.changed', terminal: { id: handle.id, command: line, stops: true } });
    this.#watch(handle);
    this.#scene.started(handle.id, line, handle.exited());
    return { terminalId: handle.id };
  }

  output(id: string) {
    const { text, truncated, exit } = this.#find(id).output();
    return { output: text, truncated, ...(exit ? { exitStatus: toStatus(exit) } : {}) };
  }

  async exited(id: string) {
    return toStatus(await this.#find(id).exited());
  }

  kill(id: string): Record<string, never> {
    this.#find(id).kill();
    return {};
  }

  /** The user wants this command ended. False: it is none of the client's. */
  stop(id: string): boolean {
    const handle = this.#open.get(id);
    if (handle && !this.#done.has(id)) {
      this.#stopped.add(id);
      this.#scene.turns.current?.stopped.add(id);
    }
    handle?.kill();
    return handle !== undefined;
  }

  /** The user has stopped this turn: its commands end, in case the agent leaves them running. Those of earlier turns were left running with their leave. */
  stopTurn(turnId: TurnId): void {
    for (const id of this.#open.keys()) if (this.#madeIn.get(id) === turnId && !this.#done.has(id)) this.stop(id);
  }

  release(id: string): Record<string, never> {
    if (this.#released.has(id)) return {};
    this.#find(id).release();
    this.#open.delete(id);
    this.#done.delete(id);
    this.#madeIn.delete(id);
    this.#released.add(id);
    return {};
  }

  /** The session or the agent is gone: its commands go with it. */
  end(): void {
    this.#ended = true;
    for (const handle of this.#open.values()) handle.release();
    this.#open.clear();
  }

  async #isOutside(cwd: string): Promise<boolean> {
    try {
      return (await placeOf(cwd, this.#scene.roots())) === 'outside';
    } catch (error) {
      throw refusal(INVALID_PARAMS, messageOf(error));
    }
  }

  /** A folder is asked about once; no answer is none. */
  async #mayRun(command: string, cwd: string, signal: AbortSignal): Promise<boolean> {
    const folder = path.resolve(cwd);
    const known = this.#outside.get(folder);
    if (known !== undefined) return known;
    const title = t('Run a command outside the workspace');
    const allowed = await this.#ask(title, t('Allow commands in this folder'), { type: 'command', command, cwd: folder }, signal);
    if (allowed !== undefined) this.#outside.set(folder, allowed);
    return allowed ?? false;
  }

  /** What the user has rejected is asked about anew, not run by another way. */
  async #mayRunAfterAll(against: Against, command: string, cwd: string | undefined, signal: AbortSignal): Promise<boolean> {
    const title =
      against === 'command'
        ? t('Run a command you have rejected before')
        : t('Run a command that names a file whose change you have rejected');
    const detail = { type: 'command', command, ...(cwd === undefined ? {} : { cwd }) } as const;
    return (await this.#ask(title, t('Allow this command'), detail, signal)) ?? false;
  }

  /** undefined when nobody answered. */
  #ask(title: string, allowing: string, detail: ApprovalDetail, signal: AbortSignal): Promise<boolean | undefined> {
    const turnId = this.#scene.turns.current?.id;
    return this.#scene.asks.ask<boolean | undefined>(
      {
        ask: (id) => ({
          kind: 'approval',
          id,
          wordless: true,
          ours: true,
          ...(turnId === undefined ? {} : { turnId }),
          title,
          toolKind: 'execute',
          detail,
          options: [
            // Not an option that rules of the user may choose: those are about the workspace.
            { id: 'allow', label: allowing, effect: 'allow_always' },
            { id: 'reject', label: t('Reject'), effect: 'reject_once' },
          ],
        }),
        reply: (answer) => answer.kind === 'option' && answer.optionId === 'allow',
        cancelled: undefined,
      },
      signal,
    );
  }

  #find(id: string): TerminalHandle {
    const handle = this.#open.get(id);
    if (!handle) throw refusal(NOT_FOUND, `There is no terminal ${id}`);
    return handle;
  }

  async #start(spec: TerminalSpec): Promise<TerminalHandle> {
    try {
      return await this.#scene.terminals.create(spec);
    } catch (error) {
      const missing = (error as { readonly code?: unknown }).code === 'ENOENT';
      if (spec.cwd !== undefined && !existsSync(spec.cwd)) {
        return notStarted(this.#scene.newId(), `${t('The folder {0} does not exist.', spec.cwd)}\n`, 127);
      }
      // A whole command line in the place of a program.
      if (missing && spec.args !== undefined && /\s/.test(spec.command)) {
        const { args, ...rest } = spec;
        return this.#start({ ...rest, command: [spec.command, ...args.map(quoted)].join(' ') });
      }
      return notStarted(this.#scene.newId(), `${spec.command}: ${messageOf(error)}\n`, missing ? 127 : 126);
    }
  }

  #watch(handle: TerminalHandle): void {
    const { id } = handle;
    let heard = false;
    handle.onOutput?.((text) => {
      if (text === undefined) return;
      heard = true;
      this.#scene.emit({ type: 'terminal.changed', terminal: { id }, delta: text });
    });
    void handle.exited().then((exit) => {
      const whole = handle.output().text;
      // What was printed before anybody listened, or by a port that cannot tell as it comes.
      const grew = !heard && whole ? { grew: whole } : {};
      const stopped = this.#stopped.delete(id) ? { stopped: true as const } : {};
      this.#scene.emit({ type: 'terminal.changed', terminal: { id, exit: { code: exit.code, signal: exit.signal, ...stopped } }, ...grew });
      if (this.#open.has(id)) this.#done.add(id);
      const [oldest] = this.#done;
      if (oldest !== undefined && this.#done.size > MOST_ENDED) this.release(oldest);
    });
  }
}

function toStatus(exit: Exit) {
  return { exitCode: exit.code, signal: exit.signal };
}

/** A terminal of a command that could not be started: it holds the reason. */
function notStarted(id: string, text: string, code: number): TerminalHandle {
  const exit = { code, signal: null };
  return { id, output: () => ({ text, truncated: false, exit }), exited: async () => exit, kill: () => {}, release: () => {} };
}

function quoted(arg: string): string {
  if (process.platform === 'win32') return `"${arg.replaceAll('"', '\\"')}"`;
  return `'${arg.replaceAll("'", "'\\''")}'`;
}
