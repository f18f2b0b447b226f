import { tenApprovals } from './tenApprovals.ts';

tenApprovals('opencode', 'OpenCode');
