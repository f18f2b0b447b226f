import { qwenInWindow } from './qwenTurns.ts';

qwenInWindow('claude-code', 'My Claude');
