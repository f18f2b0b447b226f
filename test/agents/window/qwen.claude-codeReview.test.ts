import { startPeer } from '../qwen/peers.ts';
import { inSettings } from './agents.ts';
import { reviewInWindow } from './reviewTurns.ts';

reviewInWindow('claude-code', {
  label: 'My Claude',
  prepare: async (folder) =>
    inSettings(await startPeer('claude-code', { cwd: folder, script: 'review.json' }), { name: 'My Claude', protocol: 'qwen' }),
  goesBack: true,
});
