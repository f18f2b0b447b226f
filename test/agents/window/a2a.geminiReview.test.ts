import { startPeer } from '../a2a/peers.ts';
import { inSettings } from './agents.ts';
import { reviewInWindow } from './reviewTurns.ts';

const label = 'Gemini next door';
reviewInWindow('gemini-a2a', {
  label,
  prepare: async (folder) => inSettings(await startPeer({ cwd: folder, script: 'review.json' }), { name: label, protocol: 'a2a' }),
});
