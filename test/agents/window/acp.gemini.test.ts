import { acpInWindow } from './acpTurns.ts';

acpInWindow('gemini', { label: 'Gemini CLI' });
