import { provide } from '../onDemand.ts';
import { highlight } from './highlight.ts';

provide({ highlight: { highlight } });
