import * as vscode from 'vscode';
import type { TokenColours } from '../bridge/contract.ts';
import { tokenColours } from './tokenColours.ts';

/** The colours of code in the theme with this id, as the extension that brings it says; nothing of a theme that no extension brings. */
export async function themeColours(themeId: string): Promise<TokenColours> {
  const custom = vscode.workspace.getConfiguration('editor').get<unknown>('tokenColorCustomizations');
  for (const { extensionUri, packageJSON } of vscode.extensions.all) {
    const file = fileOf(packageJSON, themeId);
    if (file === undefined) continue;
    return tokenColours(file, themeId, custom, async (name) => {
      try {
        return new TextDecoder().decode(await vscode.workspace.fs.readFile(vscode.Uri.joinPath(extensionUri, name)));
      } catch {
        return undefined;
      }
    });
  }
  return {};
}

function fileOf(manifest: unknown, themeId: string): string | undefined {
  const { contributes } = manifest as { readonly contributes?: { readonly themes?: unknown } };
  const themes: readonly unknown[] = Array.isArray(contributes?.themes) ? contributes.themes : [];
  for (const theme of themes) {
    const { id, label, path } = (theme ?? {}) as { readonly id?: unknown; readonly label?: unknown; readonly path?: unknown };
    if ((id === themeId || label === themeId) && typeof path === 'string') return path.replace(/^\.\//, '');
  }
  return undefined;
}
