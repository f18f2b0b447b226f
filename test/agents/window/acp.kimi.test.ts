import { acpInWindow } from './acpTurns.ts';

acpInWindow('kimi', { label: 'Kimi Code', plan: true });
