import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { TerminalFilter } from '../base/terminalText.ts';

export interface RecentCommand {
  readonly command: string;
  /** Undefined when the command has ended and the editor passed on nothing of it. */
  readonly output: string | undefined;
  readonly exit?: number;
}

/** A command of a terminal, and what was read of it so far. */
interface Reading {
  readonly command: string;
  output: string;
  /** Pieces of its output; each command has one at least, as its first holds the mark of its start. */
  pieces: number;
  ended: boolean;
  exit: number | undefined;
}

/** UTF-16 units kept from the end of a command's output. */
const LONGEST = 32 * 1024;

/** The last command of each terminal and its output, for terminals with shell integration. */
export class RecentCommands implements Disposable {
  readonly #life = new Lifetime();
  readonly #commands = new WeakMap<vscode.Terminal, Reading>();

  constructor() {
    this.#life.own(vscode.window.onDidStartTerminalShellExecution(({ terminal, execution }) => void this.#read(terminal, execution)));
    this.#life.own(
      vscode.window.onDidEndTerminalShellExecution(({ terminal, exitCode }) => {
        const last = this.#commands.get(terminal);
        if (last) Object.assign(last, { ended: true, exit: exitCode });
      }),
    );
  }

  /** The last command of the active terminal. */
  get last(): RecentCommand | undefined {
    const terminal = vscode.window.activeTerminal;
    const last = terminal && this.#commands.get(terminal);
    if (!last) return undefined;
    const { command, output, pieces, ended, exit } = last;
    const isLost = ended && pieces === 0;
    return { command, output: isLost ? undefined : plainText(output), ...(exit === undefined ? {} : { exit }) };
  }

  dispose(): void {
    this.#life.dispose();
  }

  async #read(terminal: vscode.Terminal, execution: vscode.TerminalShellExecution): Promise<void> {
    const stream = readAtOnce(execution);
    const reading: Reading = { command: execution.commandLine.value, output: '', pieces: 0, ended: false, exit: undefined };
    this.#commands.set(terminal, reading);
    const filter = new TerminalFilter();
    for await (const piece of stream) {
      if (this.#life.ended || this.#commands.get(terminal) !== reading) return;
      reading.output = (reading.output + filter.push(piece)).slice(-LONGEST);
      reading.pieces += 1;
    }
  }
}

/**
 * Reads the output from its first piece on. The editor begins to listen in a microtask and drops what it has before. Over a socket the start, the output and
 * the end of a quick command arrive as one message, with no microtask between, so this call alone has its microtask run at once.
 */
function readAtOnce(execution: vscode.TerminalShellExecution): AsyncIterable<string> {
  const { queueMicrotask: later } = globalThis;
  globalThis.queueMicrotask = (run) => run();
  try {
    return execution.read();
  } finally {
    globalThis.queueMicrotask = later;
  }
}

/** The output without colours, with the last state of overwritten lines. */
function plainText(text: string): string {
  const lines = text.replace(/\u001b\[[0-9;:]{0,64}[mK]/g, '').split('\n');
  return lines
    .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
    .map((line) => line.slice(line.lastIndexOf('\r') + 1))
    .join('\n');
}
