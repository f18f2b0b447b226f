import type { Ajv, CodeOptions } from 'ajv';
import type { RE2JS } from 're2js';

type Check = (input: unknown) => string | undefined;

let ajv: Ajv | undefined;
const checks = new WeakMap<object, Check>();

/** The check of a JSON Schema: gives what is wrong with an input, or undefined. A schema that cannot be compiled checks nothing: the client checks too. */
export async function checkerOf(schema: Readonly<Record<string, unknown>>): Promise<Check> {
  const known = checks.get(schema);
  if (known) return known;
  if (!ajv) {
    const [{ Ajv }, { RE2JS }] = await Promise.all([import('ajv'), import('re2js')]);
    ajv = new Ajv({
      strict: false,
      allErrors: true,
      validateFormats: false,
      addUsedSchema: false,
      code: { regExp: linearPatterns(RE2JS) },
    });
  }
  const checker = ajv;
  const { $schema: _, $id: __, ...plain } = schema;
  const check = compile(checker, plain);
  checks.set(schema, check);
  return check;
}

/** The patterns of a client's schema meet texts of a model: an engine that takes linear time. One that RE2 does not know checks nothing. */
function linearPatterns(re2: typeof RE2JS): CodeOptions['regExp'] & object {
  const engine = (pattern: string) => {
    try {
      const compiled = re2.compile(re2.translateRegExp(pattern));
      return { test: (text: string) => compiled.test(text) };
    } catch {
      return { test: () => true };
    }
  };
  // Names the engine in generated code files, which are not used here.
  return Object.assign(engine, { code: '' });
}

function compile(checker: Ajv, schema: object): Check {
  try {
    const validate = checker.compile(schema);
    return (input) => (validate(input) ? undefined : checker.errorsText(validate.errors, { dataVar: 'input' }).slice(0, 500));
  } catch {
    return () => undefined;
  }
}

/** Why a schema cannot be used for a tool's arguments; undefined when it can. By its shape alone, so that the handshake need not wait for more. */
export function problemOfSchema(schema: unknown): string | undefined {
  if (!isObject(schema)) return 'parameters must be a JSON Schema object';
  if (schema.type !== 'object') return 'parameters must have "type": "object"';
  const problem = problemIn(schema, 'parameters', 0);
  return problem === undefined ? undefined : `parameters is not a valid JSON Schema: ${problem}`;
}

const TYPES = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const;
const SINGLE = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'] as const;
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions'] as const;
const DEEPEST = 50;

function problemIn(schema: unknown, at: string, depth: number): string | undefined {
  if (typeof schema === 'boolean') return undefined;
  if (!isObject(schema)) return `${at} must be a schema`;
  if (depth > DEEPEST) return `${at} is nested too deeply`;
  const types: unknown = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
  if (!Array.isArray(types) || !types.every((type) => typeof type === 'string' && TYPES.has(type))) return `${at}/type is not a known type`;
  const { required, enum: choices } = schema;
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    return `${at}/required must be a list of names`;
  if (choices !== undefined && !Array.isArray(choices)) return `${at}/enum must be a list`;
  const parts: [string, unknown][] = [];
  for (const key of SINGLE) if (schema[key] !== undefined && !Array.isArray(schema[key])) parts.push([`${at}/${key}`, schema[key]]);
  for (const key of LISTS) {
    const list = schema[key];
    if (list === undefined) continue;
    if (!Array.isArray(list)) return `${at}/${key} must be a list`;
    for (const [index, one] of list.entries()) parts.push([`${at}/${key}/${index}`, one]);
  }
  for (const key of MAPS) {
    const map = schema[key];
    if (map === undefined) continue;
    if (!isObject(map)) return `${at}/${key} must be an object`;
    for (const [name, one] of Object.entries(map)) parts.push([`${at}/${key}/${name}`, one]);
  }
  for (const [where, one] of parts) {
    const problem = problemIn(one, where, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
