/**
 * A theme's rules for code, read as the editor reads them: theme files in JSON with comments, their `include`s, and the user's own
 * `editor.tokenColorCustomizations`.
 */

/** Groups of `editor.tokenColorCustomizations`, with the scopes that the editor takes each for. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  comments: ['comment', 'punctuation.definition.comment'],
  functions: ['entity.name.function', 'support.function'],
  keywords: ['keyword - keyword.operator', 'keyword.control', 'storage', 'storage.type'],
  numbers: ['constant.numeric'],
  strings: ['string', 'meta.embedded.assembly'],
  types: ['entity.name.type', 'entity.name.class', 'support.type', 'support.class'],
  variables: ['variable', 'entity.name.variable'],
};
/** Files in a chain of includes. */
const MOST_FILES = 8;
const LONGEST_FILE = 2 * 1024 * 1024;
/** Characters of a selector. */
const LONGEST_SCOPE = 1_000;
/** Rules of a theme that are read, over all its files. */
const MOST_RULES = 5_000;

/** The look of code in some scopes, as themes write it. Only what was checked is in it. */
export interface ThemeRule {
  readonly scope: string[];
  readonly settings: { readonly foreground?: string; readonly fontStyle?: string };
}
type Fields = Readonly<Record<string, unknown>>;

/** `read` gives the text of a file by its path relative to the theme's own file; undefined when there is none. */
export async function themeRules(
  file: string,
  themeId: string,
  customizations: unknown,
  read: (file: string) => Promise<string | undefined>,
): Promise<readonly ThemeRule[]> {
  return [...(await rulesOf(file, read, MOST_FILES)), ...customRules(customizations, themeId)].slice(-MOST_RULES);
}

async function rulesOf(file: string, read: (file: string) => Promise<string | undefined>, left: number): Promise<readonly ThemeRule[]> {
  const text = left > 0 ? await read(file) : undefined;
  const theme = text === undefined || text.length > LONGEST_FILE ? undefined : fieldsOf(parseCommented(text));
  if (!theme) return [];
  const { include, tokenColors } = theme;
  const included = typeof include === 'string' ? await rulesOf(joined(file, include), read, left - 1) : [];
  const shared = typeof tokenColors === 'string' ? await rulesOf(joined(file, tokenColors), read, left - 1) : rulesIn(tokenColors);
  return [...included, ...shared];
}

function customRules(customizations: unknown, themeId: string): readonly ThemeRule[] {
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
    const groups = Object.entries(GROUPS).flatMap(([name, scopes]) => {
      const setting = fields[name];
      const settings = lookIn(typeof setting === 'string' ? { foreground: setting } : setting);
      return settings === undefined ? [] : [{ scope: [...scopes], settings }];
    });
    return [...groups, ...rulesIn(fields.textMateRules)];
  });
}

function rulesIn(value: unknown): readonly ThemeRule[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MOST_RULES).flatMap((one: unknown) => {
    const fields = fieldsOf(one);
    const settings = lookIn(fields?.settings);
    const { scope } = fields ?? {};
    const scopes: readonly unknown[] = Array.isArray(scope) ? scope : typeof scope === 'string' ? scope.split(',') : [];
    const names = scopes.flatMap((name) => (typeof name === 'string' && name.trim() !== '' ? [name.trim().slice(0, LONGEST_SCOPE)] : []));
    return settings === undefined || names.length === 0 ? [] : [{ scope: names, settings }];
  });
}

function lookIn(value: unknown): ThemeRule['settings'] | undefined {
  const { foreground, fontStyle } = fieldsOf(value) ?? {};
  const isColour = typeof foreground === 'string' && /^#(?:[\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})$/i.test(foreground);
  const isStyle = typeof fontStyle === 'string' && /^[a-z ]{0,60}$/.test(fontStyle);
  if (!isColour && !isStyle) return undefined;
  return { ...(isColour ? { foreground } : {}), ...(isStyle ? { fontStyle } : {}) };
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
