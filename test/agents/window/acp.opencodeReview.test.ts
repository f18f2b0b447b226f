import { onPath } from './agents.ts';
import { reviewInWindow } from './reviewTurns.ts';

reviewInWindow('opencode', { label: 'OpenCode', prepare: (folder) => onPath('opencode', folder, 'review.json') });
