import { Ajv, type ValidateFunction } from 'ajv';
import type { Tool } from './ports.ts';

/** More of them help the model no further. */
const PROBLEMS = 3;
const compiled = new WeakMap<object, ValidateFunction>();

/** Returns the problem with the input by the tool's own schema, or undefined. */
export function problems(tool: Tool, input: unknown): string | undefined {
  let check = compiled.get(tool.parameters);
  if (!check) {
    check = new Ajv({ strict: false, allErrors: true, logger: false }).compile(tool.parameters);
    compiled.set(tool.parameters, check);
  }
  if (check(input)) return undefined;
  return (check.errors ?? [])
    .slice(0, PROBLEMS)
    .map((error) => `${error.instancePath || 'the arguments'} ${error.message ?? error.keyword}`)
    .join('; ');
}
