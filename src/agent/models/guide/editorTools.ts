import type { ToolOffer } from '../model.ts';
import type { GuideContext } from './script.ts';

/** The client's tool of that name, when it lent it. */
export function offerOf(scene: GuideContext, name: string): ToolOffer | undefined {
  return scene.offers.find((offer) => offer.name === name);
}

const names = {
  path: ['path', 'file', 'filePath', 'file_path', 'uri'],
  line: ['line', 'start_line', 'startLine', 'line_start', 'lineNumber'],
  column: ['column', 'character', 'col', 'start_column', 'startColumn'],
  symbol: ['symbol', 'name'],
} as const;

/**
 * Arguments in the words of the tool's own schema: its names for path, line and column, counted from 0 where its descriptions say so. Line and
 * column are given from 1.
 */
export function editorInput(
  offer: ToolOffer,
  given: {
    path?: string | undefined;
    line?: number | undefined;
    column?: number | undefined;
    symbol?: string | undefined;
  },
): object {
  const properties = propertiesOf(offer);
  const text = `${offer.description} ${JSON.stringify(properties)}`;
  const first = /(?:0|zero)[- ]based|from 0/i.test(text) && !/(?:1|one)[- ]based|from 1/i.test(text) ? 0 : 1;
  const input: Record<string, unknown> = {};
  for (const key of ['path', 'line', 'column', 'symbol'] as const) {
    const value = given[key];
    const name = names[key].find((one) => Object.hasOwn(properties, one));
    // A name says better than a column what is meant.
    if (key === 'symbol' && name !== undefined) for (const column of names.column) delete input[column];
    if (value !== undefined && name !== undefined) input[name] = typeof value === 'number' ? value - 1 + first : value;
  }
  return input;
}

function propertiesOf(offer: ToolOffer): Readonly<Record<string, unknown>> {
  const { properties } = offer.parameters;
  return typeof properties === 'object' && properties !== null ? { ...properties } : {};
}
