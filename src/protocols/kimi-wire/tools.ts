import { t } from '../../base/l10n.ts';
import type { ToolOffer } from '../../session/model.ts';
import type { Tool } from '../ports.ts';
import type { ExternalTool, InitializeResult } from './schema.ts';

/** Our tools as the server knows them: it may know one by another name. */
export interface OfferedTools {
  readonly offered: readonly Tool[];
  readonly refused: ToolOffer['rejected'];
}

/** One bad tool sinks the whole handshake on real servers, so bad ones stay home (wire.md §4). */
export function offerable(tools: readonly Tool[]): OfferedTools {
  const refused = tools.flatMap((tool) => {
    const reason = whyNot(tool);
    return reason === undefined ? [] : [{ name: tool.name, reason }];
  });
  return { offered: tools.filter((tool) => whyNot(tool) === undefined), refused };
}

function whyNot(tool: Tool): string | undefined {
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name)) return t('The name has characters that models do not take');
  if (tool.description.trim() === '') return t('It has no description');
  return tool.parameters.type === 'object' ? undefined : t('Its parameters are not an object');
}

export function toExternal(tools: readonly Tool[]): ExternalTool[] {
  return tools.map(({ name, description, parameters }) => ({ name, description, parameters: { ...parameters } }));
}

/** Tools whose names the server has already, under a name of ours. */
export function renamed(tools: readonly Tool[], result: InitializeResult): readonly Tool[] {
  const taken = new Set((result.external_tools?.rejected ?? []).flatMap((one) => (/conflict/i.test(one.reason ?? '') ? [one.name] : [])));
  return tools.filter((tool) => taken.has(tool.name)).map((tool) => ({ ...tool, name: `ide_${tool.name}` }));
}

/** What came of the offer. A server that says nothing has taken everything. */
export function outcome(tools: readonly Tool[], result: InitializeResult): ToolOffer {
  const rejected = (result.external_tools?.rejected ?? []).map(({ name, reason }) => ({
    name,
    reason: reason?.split('\n', 1)[0] || 'rejected',
  }));
  const no = new Set(rejected.map((one) => one.name));
  const accepted = result.external_tools?.accepted ?? tools.map((tool) => tool.name).filter((name) => !no.has(name));
  return { accepted, rejected };
}
