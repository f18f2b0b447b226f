import { onPath } from './agents.ts';
import { reviewInWindow } from './reviewTurns.ts';

reviewInWindow('gemini', { label: 'Gemini CLI', prepare: (folder) => onPath('gemini', folder, 'review.json') });
