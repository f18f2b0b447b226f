import path from 'node:path';
import * as vscode from 'vscode';
import type { ChangeSet } from '../live/review/changeSet.ts';
import type { Exit, Ports, VisibleProgram } from '../protocols/ports.ts';
import type { protocols } from '../protocols/registry.ts';
import type { Lsp } from './tools/context.ts';
import type { sessionTools } from './tools/index.ts';

/** The parts of the program for the first session, read from the disk at their first use (build/host.mjs). */
interface Loaded {
  readonly protocols: { readonly protocols: typeof protocols };
  /** The editor tools with their schemas. */
  readonly editorTools: { readonly sessionTools: typeof sessionTools };
  /** Compares the files of a folder before and after a prompt. */
  readonly review: { readonly ChangeSet: typeof ChangeSet };
  /** The converters of the editor tools into LSP shapes. */
  readonly languageTools: Lsp;
}

type Bundles = { readonly [B in keyof Loaded]: () => Loaded[B] };

export function bundlesIn(extensionPath: string): Bundles {
  // Not an import: the bundler must leave this call where it is.
  const load = (name: string): unknown => require(path.join(extensionPath, 'dist', `${name}.js`));
  return {
    protocols: () => load('protocols') as Loaded['protocols'],
    editorTools: () => load('editorTools') as Loaded['editorTools'],
    review: () => load('review') as Loaded['review'],
    languageTools: () => load('languageTools') as Lsp,
  };
}

/** Ports that act outside the editor, in the user's sight. */
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
