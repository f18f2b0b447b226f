import { existsSync, readFileSync } from 'node:fs';

/** The parts of package.json the rules look at. */
export interface Manifest {
  readonly contributes: {
    readonly commands?: readonly ManifestCommand[];
    readonly keybindings?: readonly { readonly command: string; readonly key: string; readonly mac?: string; readonly when?: string }[];
    readonly menus?: Readonly<Record<string, readonly MenuEntry[]>>;
    readonly configuration?: Configuration | readonly Configuration[];
  };
  readonly dependencies: Readonly<Record<string, string>>;
}
export interface ManifestCommand {
  readonly command: string;
  readonly title: string;
  readonly category?: string;
  readonly enablement?: string;
}
interface Configuration {
  readonly properties: Readonly<Record<string, Setting>>;
}
export interface Setting {
  readonly scope?: string;
  readonly description?: string;
  readonly markdownDescription?: string;
  readonly enum?: readonly string[];
  readonly enumDescriptions?: readonly string[];
  readonly markdownEnumDescriptions?: readonly string[];
}

export const manifest = readJson<Manifest>('package.json');

/** Settings by their full name. */
export const settings: Readonly<Record<string, Setting>> = Object.assign(
  {},
  ...[manifest.contributes.configuration ?? []].flat().map((part) => part.properties),
);

/** A table of texts: key to text. Empty when the file does not exist. */
export function texts(file: string): Readonly<Record<string, string>> {
  return existsSync(file) ? readJson<Record<string, string>>(file) : {};
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}

interface MenuEntry {
  readonly command?: string;
  readonly submenu?: string;
  readonly when?: string;
  readonly group?: string;
}
