import * as vscode from 'vscode';

interface Manifest {
  readonly contributes: { readonly commands: readonly { readonly command: string; readonly title: string | { readonly value: string } }[] };
}

/** The title of a command as the manifest has it, in the user's language, without the "…" of a command that asks for more. */
export function commandTitle(name: string): string {
  const manifest = vscode.extensions.getExtension('parley.parley')?.packageJSON as Manifest | undefined;
  const title = manifest?.contributes.commands.find(({ command }) => command === `parley.${name}`)?.title ?? name;
  // In another language than English the editor keeps both.
  return (typeof title === 'string' ? title : title.value).replace(/…$/, '');
}
