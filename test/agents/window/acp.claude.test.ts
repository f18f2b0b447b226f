import { acpInWindow } from './acpTurns.ts';

acpInWindow('claude', { label: 'Claude' });
