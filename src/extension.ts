import * as vscode from 'vscode';
import { Lifetime } from './base/lifetime.ts';
import { messageOf } from './base/log.ts';
import type { Program } from './editor/program.ts';
import { BASE_SCHEME, ReviewDocuments } from './editor/review/documents.ts';

let running: { readonly life: Lifetime; program?: Promise<Program> } | undefined;

/** Registers everything the editor opens or runs. The program behind it is loaded and started at the first use. */
export function activate(context: vscode.ExtensionContext): void {
  const life = new Lifetime();
  context.subscriptions.push(life);
  // Before everything that the editor restores: its diffs read their texts here.
  const documents = { proposed: life.own(new ReviewDocuments()), bases: life.own(new ReviewDocuments(BASE_SCHEME)) };
  const here: typeof running = { life };
  running = here;
  /** Stand-ins for the parts of the program until it is loaded. */
  const early = life.own(new Lifetime());
  const withProgram = async (use: (program: Program) => unknown): Promise<void> => {
    here.program ??= import('./editor/program.ts').then(({ startProgram }) => {
      early.dispose();
      return startProgram(context, life, documents);
    });
    let program: Program;
    try {
      program = await here.program;
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t('{0} could not start: {1}', 'Parley', messageOf(error)));
      return;
    }
    await use(program);
  };
  for (const one of [documents.proposed, documents.bases]) one.restoreWith((uri) => withProgram((program) => program.restoreText(uri)));
  // The editor requests rows only for a list on the screen; the program then registers its own provider.
  early.own(
    vscode.window.registerTreeDataProvider('parley.changes', {
      getChildren: () => withProgram((program) => program.showChanges()).then(() => []),
      getTreeItem: (row: vscode.TreeItem) => row,
    }),
  );
  const standIn: vscode.Disposable = life.own(
    vscode.window.registerTreeDataProvider('parley.sessions', {
      getChildren: () => withProgram((program) => program.showSessions(standIn)).then(() => []),
      getTreeItem: (row: vscode.TreeItem) => row,
    }),
  );
  life.own(
    vscode.window.registerWebviewViewProvider('parley.chat', {
      resolveWebviewView: (view) => withProgram((program) => program.showChat(view)),
    }),
  );
  life.own(
    vscode.window.registerWebviewPanelSerializer('parley.session', {
      deserializeWebviewPanel: (panel, state: unknown) => withProgram((program) => program.restorePanel(panel, state)),
    }),
  );
  life.own(
    vscode.languages.registerCodeActionsProvider(
      { scheme: 'file' },
      {
        provideCodeActions: async (document, range, { diagnostics }) =>
          (await import('./editor/codeActions.ts')).codeActions(document, range, diagnostics),
      },
      { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix, vscode.CodeActionKind.Refactor] },
    ),
  );
  for (const { command } of (context.extension.packageJSON as Manifest).contributes.commands) {
    life.own(vscode.commands.registerCommand(command, (...args: unknown[]) => withProgram((program) => program.run(command, args))));
  }
}

/** The editor awaits this: agents end with the window. */
export async function deactivate(): Promise<void> {
  const ending = running;
  running = undefined;
  ending?.life.dispose();
  const program = await ending?.program?.catch(() => undefined);
  await program?.agentsEnded();
}

/** The package's own manifest. */
interface Manifest {
  readonly contributes: { readonly commands: readonly { readonly command: string }[] };
}
