import { silentLog } from '../../src/base/log.ts';
import { processChannel } from '../../src/transport/process.ts';

// A process that starts an agent, prints what that prints, and waits to be killed. Its argument is the agent's code.

const [code = ''] = process.argv.slice(2);
const agent = processChannel({ command: process.execPath, args: ['-e', code], env: {}, cwd: process.cwd() }, { log: silentLog });
agent.onMessage((line) => process.stdout.write(`${line}\n`));
