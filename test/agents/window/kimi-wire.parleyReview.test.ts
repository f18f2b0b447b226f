import path from 'node:path';
import { startModel } from '../lab.ts';
import { reviewInWindow } from './reviewTurns.ts';

const script = path.resolve('dist/parley-agent.js');

// The included agent over Kimi Wire, with a model: it writes to the disk by itself.
reviewInWindow('parley-wire', {
  label: 'Over Wire',
  prepare: async (cwd) => {
    const model = await startModel({ cwd }, 'review.json');
    const env = { PARLEY_MODEL_BASE_URL: `${model.url}/v1`, PARLEY_MODEL_NAME: 'fake-model', PARLEY_MODEL_API_KEY: 'fake-key' };
    const agent = { id: 'over-wire', name: 'Over Wire', protocol: 'kimi-wire', command: process.execPath, args: [script, '--wire'], env };
    return { machineSettings: { 'parley.agents': [agent] }, agents: 'parley-agent', end: () => model.stop() };
  },
});
