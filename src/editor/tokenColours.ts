import type { TokenColours, TokenRole } from '../bridge/contract.ts';

/**
 * A theme's code colours, read as the editor reads them: theme files in JSON with comments, their `include`s, and the user's own
 * `editor.tokenColorCustomizations`. Leaves out selectors with parents: the chat knows single words, not the scopes around them.
 */

/** The scope by which each role is looked up, as grammars name it. */
const SCOPES: Readonly<Record<TokenRole, string>> = {
  attribute: 'entity.other.attribute-name',
  comment: 'comment.line.double-slash',
  function: 'entity.name.function',
  keyword: 'keyword.control',
  literal: 'constant.language',
  meta: 'meta.preprocessor',
  number: 'constant.numeric',
  property: 'variable.other.property',
  regexp: 'string.regexp',
  storage: 'storage.type',
  string: 'string.quoted.double',
  tag: 'entity.name.tag',
  type: 'entity.name.type.class',
  variable: 'variable.other.readwrite',
};
/** Groups of `editor.tokenColorCustomizations` that represent scopes. */
const GROUPS: Readonly<Record<string, string>> = {
  comments: 'comment',
  functions: 'entity.name.function',
  keywords: 'keyword',
  numbers: 'constant.numeric',
  strings: 'string',
  types: 'entity.name.type',
  variables: 'variable',
};
/** Files in a chain of includes. */
const MOST_FILES = 8;
const LONGEST_FILE = 2 * 1024 * 1024;
/** Rules of a theme that are read, over all its files. */
const MOST_RULES = 5_000;

interface Rule {
  readonly scope: string;
  readonly colour: string;
}
type Fields = Readonly<Record<string, unknown>>;

/** `read` gives the text of a file by its path relative to the theme's own file; undefined when there is none. */
export async function tokenColours(
  file: string,
  themeId: string,
  customizations: unknown,
  read: (file: string) => Promise<string | undefined>,
): Promise<TokenColours> {
  const rules = [...(await rulesOf(file, read, MOST_FILES)), ...customRules(customizations, themeId)].slice(-MOST_RULES);
  const found = Object.entries(SCOPES).flatMap(([role, scope]) => {
    const colour = colourOf(scope, rules);
    return colour === undefined ? [] : [[role, colour] as const];
  });
  return Object.fromEntries(found);
}

async function rulesOf(file: string, read: (file: string) => Promise<string | undefined>, left: number): Promise<readonly Rule[]> {
  const text = left > 0 ? await read(file) : undefined;
  const theme = text === undefined || text.length > LONGEST_FILE ? undefined : fieldsOf(parseCommented(text));
  if (!theme) return [];
  const { include, tokenColors } = theme;
  const included = typeof include === 'string' ? await rulesOf(joined(file, include), read, left - 1) : [];
  const shared = typeof tokenColors === 'string' ? await rulesOf(joined(file, tokenColors), read, left - 1) : rulesIn(tokenColors);
  return [...included, ...shared];
}

function customRules(customizations: unknown, themeId: string): readonly Rule[] {
  const all = fieldsOf(customizations);
  if (!all) return [];
  // "[Theme]" or "[Theme][Other]", with * for any characters at an end.
  const named = Object.entries(all).flatMap(([key, value]) => {
    const names = [...key.matchAll(/\[([^\]]{1,200})\]/g)].map(([, name = '']) => name);
    const fits = names.some((name) => name === themeId || (name.endsWith('*') && themeId.startsWith(name.slice(0, -1))));
    return fits ? [value] : [];
  });
  return [all, ...named].flatMap((value) => {
    const fields = fieldsOf(value) ?? {};
    const groups = Object.entries(GROUPS).flatMap(([name, scope]) => {
      const setting = fields[name];
      const colour = colourIn(typeof setting === 'string' ? setting : fieldsOf(setting)?.foreground);
      return colour === undefined ? [] : [{ scope, colour }];
    });
    return [...groups, ...rulesIn(fields.textMateRules)];
  });
}

function rulesIn(value: unknown): readonly Rule[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MOST_RULES).flatMap((one: unknown) => {
    const fields = fieldsOf(one);
    const colour = colourIn(fieldsOf(fields?.settings)?.foreground);
    if (colour === undefined) return [];
    const { scope } = fields ?? {};
    const scopes = Array.isArray(scope) ? scope : typeof scope === 'string' ? scope.split(',') : [];
    return scopes.flatMap((name: unknown) => (typeof name === 'string' && !/\s/.test(name.trim()) ? [{ scope: name.trim(), colour }] : []));
  });
}

/** The colour of the rule that matches most of the scope; of equal matches, the later. */
function colourOf(scope: string, rules: readonly Rule[]): string | undefined {
  let best: Rule | undefined;
  for (const rule of rules) {
    const fits = rule.scope !== '' && (scope === rule.scope || scope.startsWith(`${rule.scope}.`));
    if (fits && rule.scope.length >= (best?.scope.length ?? 0)) best = rule;
  }
  return best?.colour;
}

function colourIn(value: unknown): string | undefined {
  return typeof value === 'string' && /^#(?:[\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})$/i.test(value) ? value : undefined;
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** Parses JSON with comments and trailing commas; undefined for anything else. */
function parseCommented(text: string): unknown {
  const plain = text.replace(
    /("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\//g,
    (_, literal: string | undefined) => literal ?? ' ',
  );
  const strict = plain.replace(/("(?:\\.|[^"\\])*")|,(?=\s{0,1000}[}\]])/g, (_, literal: string | undefined) => literal ?? '');
  try {
    return JSON.parse(strict.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

/** A path beside a file, with forward slashes. The reader must refuse paths that leave the theme's folder upwards. */
function joined(file: string, other: string): string {
  const parts = file.split('/').slice(0, -1);
  for (const part of other.replaceAll('\\', '/').split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return parts.join('/');
}
