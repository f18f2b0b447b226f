import * as vscode from 'vscode';
import { LanguageClient } from 'vscode-languageclient/node';

/** The part of the editor tools that speaks LSP: a bundle of its own, loaded at the first call of a language tool. All positions are 0-based. */

// The converters depend on a client; this one is never started.
const { code2ProtocolConverter: converter } = new LanguageClient('parley-converters', 'Parley', { command: '' }, {});

interface Symbols {
  readonly name: string;
  readonly kind: number;
  readonly detail?: string;
  readonly range: unknown;
  readonly selectionRange?: unknown;
  readonly containerName?: string;
  readonly children?: readonly Symbols[];
}

export async function definitions(uri: vscode.Uri, at: vscode.Position): Promise<readonly unknown[]> {
  const found = await vscode.commands.executeCommand<(vscode.Location | vscode.LocationLink)[] | undefined>(
    'vscode.executeDefinitionProvider',
    uri,
    at,
  );
  return (found ?? []).map((one) =>
    'targetUri' in one
      ? converter.asLocation(new vscode.Location(one.targetUri, one.targetSelectionRange ?? one.targetRange))
      : converter.asLocation(one),
  );
}

export async function references(uri: vscode.Uri, at: vscode.Position): Promise<readonly unknown[]> {
  const found = await vscode.commands.executeCommand<vscode.Location[] | undefined>('vscode.executeReferenceProvider', uri, at);
  return (found ?? []).map((one) => converter.asLocation(one));
}

export async function symbols(uri: vscode.Uri): Promise<readonly unknown[]> {
  const found = await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined>(
    'vscode.executeDocumentSymbolProvider',
    uri,
  );
  return (found ?? []).map((one) => ('children' in one ? tree(one) : information(one)));
}

export function diagnostics(list: readonly vscode.Diagnostic[]): readonly unknown[] {
  return converter.asDiagnosticsSync([...list]);
}

export function range(of: vscode.Range): unknown {
  return converter.asRange(of);
}

function tree(symbol: vscode.DocumentSymbol): Symbols {
  return {
    name: symbol.name,
    kind: converter.asSymbolKind(symbol.kind),
    ...(symbol.detail ? { detail: symbol.detail } : {}),
    range: converter.asRange(symbol.range),
    selectionRange: converter.asRange(symbol.selectionRange),
    ...(symbol.children.length > 0 ? { children: symbol.children.map(tree) } : {}),
  };
}

function information(symbol: vscode.SymbolInformation): Symbols {
  return {
    name: symbol.name,
    kind: converter.asSymbolKind(symbol.kind),
    range: converter.asRange(symbol.location.range),
    ...(symbol.containerName ? { containerName: symbol.containerName } : {}),
  };
}
