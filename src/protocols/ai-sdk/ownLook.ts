import type { ToolCall } from '../../session/model.ts';
import type { Tool } from '../ports.ts';
import { isRecord } from './metadata.ts';

/** How a call of one of our tools is shown: as what it is about to do, where the tool can say that of its input. */
export function lookOf(tool: Tool | undefined, input: unknown): Partial<Pick<ToolCall, 'title' | 'kind'>> {
  try {
    const needed = tool?.confirm?.(input);
    if (needed) return { title: needed.detail.type === 'command' ? needed.detail.command : needed.title, kind: needed.kind };
  } catch {
    // Input of another shape: running it will say so.
  }
  const question = isRecord(input) ? input.question : undefined;
  const file = isRecord(input) ? input.path : undefined;
  if (typeof question === 'string') return { title: question.slice(0, 200) };
  return tool && typeof file === 'string' ? { title: `${tool.name} ${file}`.slice(0, 200) } : {};
}
