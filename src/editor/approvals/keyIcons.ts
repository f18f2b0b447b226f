import * as vscode from 'vscode';

const made = new Map<string, { readonly light: vscode.Uri; readonly dark: vscode.Uri }>();

/** A key cap with this letter, as a row's icon. */
export function keyIcon(letter: string): { readonly light: vscode.Uri; readonly dark: vscode.Uri } {
  let icon = made.get(letter);
  if (!icon) {
    icon = { light: drawn(letter, '#3b3b3b'), dark: drawn(letter, '#cccccc') };
    made.set(letter, icon);
  }
  return icon;
}

function drawn(letter: string, colour: string): vscode.Uri {
  const frame = `<rect x='1.5' y='1.5' width='13' height='13' rx='3' fill='none' stroke='${colour}'/>`;
  const text = `<text x='8' y='11.5' font-family='sans-serif' font-size='9.5' font-weight='600' text-anchor='middle' fill='${colour}'>${letter}</text>`;
  const svg = `<svg xmlns='http://www.w3.org/2000/svg' width='16' height='16' viewBox='0 0 16 16'>${frame}${text}</svg>`;
  return vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`);
}
