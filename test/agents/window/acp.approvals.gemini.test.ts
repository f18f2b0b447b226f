import { tenApprovals } from './tenApprovals.ts';

tenApprovals('gemini', 'Gemini CLI');
