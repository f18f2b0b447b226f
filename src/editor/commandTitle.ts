import * as vscode from 'vscode';

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string; readonly title: Title }[];
    readonly views: Readonly<Record<string, readonly { readonly id: string; readonly name: Title }[]>>;
  };
}
/** In another language than English the editor keeps both. */
type Title = string | { readonly value: string; readonly original: string };

/** The title of a command as the manifest has it, in the user's language, without the "…" of a command that asks for more. */
export function commandTitle(name: string): string {
  return short(shown(manifest()?.commands.find(({ command }) => command === `parley.${name}`)?.title ?? name));
}

/** The name of a view of ours in the user's language. */
export function viewName(id: string): string {
  const views = Object.values(manifest()?.views ?? {}).flat();
  return shown(views.find((view) => view.id === id)?.name ?? id);
}

/** The texts of the view: the bundle, and the titles of commands by their English ones. */
export function viewStrings(): Readonly<Record<string, string>> {
  const titles = (manifest()?.commands ?? []).map(({ title }) =>
    typeof title === 'string' ? [short(title), short(title)] : [short(title.original), short(title.value)],
  );
  return { ...Object.fromEntries(titles), ...vscode.l10n.bundle };
}

function manifest(): Manifest['contributes'] | undefined {
  return (vscode.extensions.getExtension('parley.parley')?.packageJSON as Manifest | undefined)?.contributes;
}

function shown(title: Title): string {
  return typeof title === 'string' ? title : title.value;
}

function short(title: string): string {
  return title.replace(/…$/, '');
}
