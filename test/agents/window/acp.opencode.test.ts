import { acpInWindow } from './acpTurns.ts';

acpInWindow('opencode', { label: 'OpenCode' });
