/** How long parley-agent takes from its start to the answer to `initialize`, beside a bare Node that echoes one line. Prints medians. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const ROUNDS = 15;

const folder = mkdtempSync(path.join(os.tmpdir(), 'parley-start-'));
const echo = path.join(folder, 'echo.cjs');
writeFileSync(echo, 'process.stdin.once("data", () => process.stdout.write("x\\n"));\n');

/** Milliseconds until the first byte of the answer. */
function once(args: readonly string[], line: string): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, [...args], { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.write(line);
  return new Promise((resolve) => {
    child.stdout.once('data', () => {
      const took = performance.now() - began;
      child.stdin.end();
      child.once('exit', () => resolve(took));
    });
  });
}

function initialize(tools: number): string {
  const parameters = {
    type: 'object',
    properties: { path: { type: 'string' }, line: { type: 'integer', minimum: 1 } },
    required: ['path'],
  };
  const external_tools = Array.from({ length: tools }, (_, at) => ({ name: `tool_${at}`, description: 'A tool', parameters }));
  const params = { protocol_version: '1.10', ...(tools > 0 ? { external_tools } : {}) };
  return `${JSON.stringify({ jsonrpc: '2.0', id: '1', method: 'initialize', params })}\n`;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

const agent = [path.resolve('dist/parley-agent.js'), '--work-dir', folder];
const took: Record<'bare' | 'agent' | 'withTools', number[]> = { bare: [], agent: [], withTools: [] };
for (let round = 0; round < ROUNDS; round += 1) {
  took.bare.push(await once([echo], 'x\n'));
  took.agent.push(await once(agent, initialize(0)));
  took.withTools.push(await once(agent, initialize(8)));
}
rmSync(folder, { recursive: true, force: true });
const [bare, plain, tools] = [median(took.bare), median(took.agent), median(took.withTools)];
console.log(
  `parley-agent, start to initialize answer: ${plain.toFixed(0)} ms, with 8 editor tools ${tools.toFixed(0)} ms; bare node ${bare.toFixed(0)} ms`,
);
console.log(`its own share: ${(plain - bare).toFixed(0)} ms; aim: under 150 ms on an idle machine`);
