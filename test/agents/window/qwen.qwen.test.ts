import { qwenInWindow } from './qwenTurns.ts';

qwenInWindow('qwen', 'My Qwen');
