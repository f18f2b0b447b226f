import { provide } from '../onDemand.ts';
import { diagram } from './mermaid.ts';

provide({ mermaid: { diagram } });
