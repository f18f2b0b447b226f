import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { TerminalFilter } from '../base/terminalText.ts';

export interface RecentCommand {
  readonly command: string;
  readonly output: string;
  readonly exit?: number;
}

/** UTF-16 units kept from the end of a command's output. */
const LONGEST = 32 * 1024;

/** The last command of each terminal and its output, for terminals with shell integration. */
export class RecentCommands implements Disposable {
  readonly #life = new Lifetime();
  readonly #commands = new WeakMap<vscode.Terminal, RecentCommand>();

  constructor() {
    this.#life.own(vscode.window.onDidStartTerminalShellExecution(({ terminal, execution }) => void this.#read(terminal, execution)));
    this.#life.own(
      vscode.window.onDidEndTerminalShellExecution(({ terminal, exitCode }) => {
        const last = this.#commands.get(terminal);
        if (last && exitCode !== undefined) this.#commands.set(terminal, { ...last, exit: exitCode });
      }),
    );
  }

  /** The last command of the active terminal. */
  get last(): RecentCommand | undefined {
    const terminal = vscode.window.activeTerminal;
    const last = terminal && this.#commands.get(terminal);
    return last && { ...last, output: plainText(last.output) };
  }

  dispose(): void {
    this.#life.dispose();
  }

  async #read(terminal: vscode.Terminal, execution: vscode.TerminalShellExecution): Promise<void> {
    const command = execution.commandLine.value;
    const mine = { command, output: '' };
    this.#commands.set(terminal, mine);
    const filter = new TerminalFilter();
    let output = '';
    for await (const piece of execution.read()) {
      output = (output + filter.push(piece)).slice(-LONGEST);
      const now = this.#commands.get(terminal);
      if (this.#life.ended || now?.command !== command) return;
      this.#commands.set(terminal, { ...now, output });
    }
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
