import * as vscode from 'vscode';
import { pathBelow } from '../protocols/paths.ts';

/** The part of the git extension's API that Parley uses. */
export interface GitRepository {
  readonly rootUri: vscode.Uri;
  readonly inputBox: { value: string };
  readonly state: { readonly workingTreeChanges: readonly unknown[]; readonly indexChanges: readonly unknown[] };
  diff(cached: boolean): Promise<string>;
  diffWithHEAD(path: string): Promise<string>;
}

/** The repositories that the editor has open; none where git is disabled. */
export async function repositories(): Promise<readonly GitRepository[]> {
  type Git = { readonly enabled: boolean; getAPI(version: 1): { readonly repositories: readonly GitRepository[] } };
  const extension = vscode.extensions.getExtension<Git>('vscode.git');
  try {
    const git = extension?.isActive ? extension.exports : await extension?.activate();
    return git?.enabled ? git.getAPI(1).repositories : [];
  } catch {
    return [];
  }
}

/** The innermost repository that a file is in. */
export function repositoryOf(all: readonly GitRepository[], uri: vscode.Uri): GitRepository | undefined {
  return all
    .filter(({ rootUri }) => pathBelow(rootUri.fsPath, uri.fsPath) !== undefined)
    .sort((a, b) => b.rootUri.fsPath.length - a.rootUri.fsPath.length)[0];
}
