import { tenApprovals } from './tenApprovals.ts';

tenApprovals('claude', 'Claude');
