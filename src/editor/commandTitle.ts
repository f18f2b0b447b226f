import * as vscode from 'vscode';

interface Manifest {
  readonly contributes: { readonly commands: readonly { readonly command: string; readonly title: Title }[] };
}
/** In another language than English the editor keeps both. */
type Title = string | { readonly value: string; readonly original: string };

/** The title of a command as the manifest has it, in the user's language, without the "…" of a command that asks for more. */
export function commandTitle(name: string): string {
  const title = commands().find(({ command }) => command === `parley.${name}`)?.title ?? name;
  return short(typeof title === 'string' ? title : title.value);
}

/** The texts of the view: the bundle, and the titles of commands by their English ones. */
export function viewStrings(): Readonly<Record<string, string>> {
  const titles = commands().map(({ title }) =>
    typeof title === 'string' ? [short(title), short(title)] : [short(title.original), short(title.value)],
  );
  return { ...Object.fromEntries(titles), ...vscode.l10n.bundle };
}

function commands(): Manifest['contributes']['commands'] {
  const manifest = vscode.extensions.getExtension('parley.parley')?.packageJSON as Manifest | undefined;
  return manifest?.contributes.commands ?? [];
}

function short(title: string): string {
  return title.replace(/…$/, '');
}
