import { provide } from '../onDemand.ts';
import { math } from './math.ts';

provide({ math: { math } });
