import { runCommand } from '../../src/agent/tools/runCommand.ts';
import { silentLog } from '../../src/base/log.ts';
import { childTerminals } from '../../src/live/childTerminals.ts';
import { processChannel } from '../../src/transport/process.ts';

/**
 * A host that starts one stubborn command and then waits to be killed:
 *   node out/unit/test/fakes/owner.mjs terminal|agent|command
 * Prints the process ids of the command and of what the command started, one a line.
 */
const STUBBORN = 'trap "" TERM HUP INT; sleep 1000 & echo $$; echo $!; while :; do sleep 1000; done';
const print = (text: string | undefined) => text !== undefined && process.stdout.write(text);

const starts: Readonly<Record<string, () => unknown>> = {
  terminal: async () => {
    const terminal = await childTerminals({ cwd: '/' }).create({ command: 'sh', args: ['-c', STUBBORN] });
    terminal.onOutput?.(print);
  },
  agent: () => {
    const spec = { command: 'sh', args: ['-c', STUBBORN], env: {}, cwd: '/' };
    processChannel(spec, { log: silentLog }).onMessage((line) => print(`${line}\n`));
  },
  command: () => runCommand({ command: STUBBORN, cwd: '/', seconds: 1000, signal: new AbortController().signal }, print),
};
void starts[process.argv[2] ?? '']?.();
setInterval(() => {}, 1000);
