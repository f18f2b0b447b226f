import { writeFileSync } from 'node:fs';
import * as vscode from 'vscode';

/** Called by the extension host: how long activation takes there, and then the first command, with no session open, in milliseconds. */
export async function run(): Promise<void> {
  const extension = vscode.extensions.getExtension('parley.parley');
  if (!extension) throw new Error('the extension is not there');
  const already = extension.isActive;
  const began = performance.now();
  await extension.activate();
  const took = performance.now() - began;
  const asked = performance.now();
  await vscode.commands.executeCommand('parley.showLog');
  const first = performance.now() - asked;
  if (process.env.PARLEY_REPORT) writeFileSync(process.env.PARLEY_REPORT, JSON.stringify({ already, took, first }));
}
