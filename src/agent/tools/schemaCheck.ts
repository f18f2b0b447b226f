import type { Ajv } from 'ajv';

type Check = (input: unknown) => string | undefined;

let ajv: Ajv | undefined;
const checks = new WeakMap<object, Check>();

/** The check of a JSON Schema: gives what is wrong, or undefined. Loaded at the first use. Throws when the schema itself is bad. */
export async function checkerOf(schema: Readonly<Record<string, unknown>>): Promise<Check> {
  const known = checks.get(schema);
  if (known) return known;
  if (!ajv) {
    const { Ajv } = await import('ajv');
    ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, addUsedSchema: false });
  }
  const checker = ajv;
  const { $schema: _, $id: __, ...plain } = schema;
  const validate = checker.compile(plain);
  const check: Check = (input) => (validate(input) ? undefined : checker.errorsText(validate.errors, { dataVar: 'input' }).slice(0, 500));
  checks.set(schema, check);
  return check;
}

/** Why a schema cannot be used for a tool's arguments; undefined when it can. */
export async function problemOfSchema(schema: unknown): Promise<string | undefined> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return 'parameters must be a JSON Schema object';
  const parameters: Readonly<Record<string, unknown>> = { ...schema };
  if (parameters.type !== 'object') return 'parameters must have "type": "object"';
  try {
    await checkerOf(parameters);
    return undefined;
  } catch (error) {
    return `parameters is not a valid JSON Schema: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}`;
  }
}
