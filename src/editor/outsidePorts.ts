import * as vscode from 'vscode';
import type { Exit, Ports, VisibleProgram } from '../protocols/ports.ts';

/** Ports that reach out of the editor: each is seen by the user. */
export const outsidePorts: Required<Pick<Ports, 'openLink' | 'runVisibly'>> = {
  openLink: async (url) => {
    if (!/^https?:\/\//i.test(url)) return false;
    return vscode.env.openExternal(vscode.Uri.parse(url, true));
  },
  runVisibly: (program) => runInTerminal(program),
};

function runInTerminal({ title, command, args, env, cwd }: VisibleProgram): Promise<Exit> {
  const terminal = vscode.window.createTerminal({ name: title, shellPath: command, shellArgs: [...args], env: { ...env }, cwd });
  terminal.show();
  return new Promise((resolve) => {
    const closed = vscode.window.onDidCloseTerminal((one) => {
      if (one !== terminal) return;
      closed.dispose();
      resolve({ code: one.exitStatus?.code ?? null, signal: null });
    });
  });
}
