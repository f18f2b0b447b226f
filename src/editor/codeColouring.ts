import path from 'node:path';
import { Worker } from 'node:worker_threads';
import * as vscode from 'vscode';
import type { Disposable } from '../base/lifetime.ts';
import type { ColouredCode } from '../bridge/contract.ts';
import type { Contribution } from './grammars.ts';
import type { ThemeRule } from './themeRules.ts';

/** Kinds of themes as manifests name them. */
const KINDS: Readonly<Record<vscode.ColorThemeKind, string>> = {
  [vscode.ColorThemeKind.Light]: 'vs',
  [vscode.ColorThemeKind.Dark]: 'vs-dark',
  [vscode.ColorThemeKind.HighContrast]: 'hc-black',
  [vscode.ColorThemeKind.HighContrastLight]: 'hc-light',
};

/** The input of the thread that colours. */
export interface ColourWork {
  /** The file with the engine for regular expressions. */
  readonly engine: string;
  readonly contributions: readonly Contribution[];
}
export interface ColourRequest {
  readonly id: number;
  readonly text: string;
  readonly language: string;
  /** Absent: those of the request before. */
  readonly rules?: readonly ThemeRule[];
}
interface ColourAnswer {
  readonly id: number;
  readonly code: ColouredCode | null;
}

/** Milliseconds after which a thread that has not answered is ended; its first answer takes the longest. */
const ANSWERS_WITHIN = 10_000;

/** Colours code for the chat in the theme of its page, with the grammars and themes of the installed extensions, in a thread of its own. */
export class CodeColouring implements Disposable {
  readonly #dist: string;
  #worker: Worker | undefined;
  /** Undefined is for those that have to ask again. */
  readonly #waiting = new Map<number, (code: ColouredCode | null | undefined) => void>();
  #asked = 0;
  /** The rules of the theme last asked for. */
  #theme: { readonly id: string; readonly rules: Promise<readonly ThemeRule[]> } | undefined;
  /** The rules that the thread has. */
  #sent: readonly ThemeRule[] | undefined;
  #isOver = false;

  /** `dist`: the folder with the thread's script and the engine. */
  constructor(dist: string) {
    this.#dist = dist;
  }

  /** Null for a language without a grammar, and when it takes too long. */
  async colour(text: string, language: string, theme: string): Promise<ColouredCode | null> {
    const code = await this.#ask(text, language, theme);
    // The thread ended over another text, or for other extensions or settings: the page would keep the answer, and stay without colours.
    return (code === undefined && !this.#isOver ? await this.#ask(text, language, theme) : code) ?? null;
  }

  async #ask(text: string, language: string, theme: string): Promise<ColouredCode | null | undefined> {
    if (this.#theme?.id !== theme) this.#theme = { id: theme, rules: rulesOf(theme) };
    const rules = await this.#theme.rules;
    if (this.#isOver) return null;
    const worker = this.#running();
    this.#asked += 1;
    const id = this.#asked;
    const answer = new Promise<ColouredCode | null | undefined>((resolve) => this.#waiting.set(id, resolve));
    const late = setTimeout(() => {
      this.#answer(id, null);
      this.forget();
    }, ANSWERS_WITHIN);
    worker.postMessage({ id, text, language, ...(this.#sent === rules ? {} : { rules }) } satisfies ColourRequest);
    this.#sent = rules;
    return answer.finally(() => clearTimeout(late));
  }

  /** Reads the theme again with the next question. */
  forgetTheme(): void {
    this.#theme = undefined;
  }

  /** Ends the thread; the next question reads themes and grammars again. */
  forget(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
    this.#theme = undefined;
    this.#sent = undefined;
    for (const id of [...this.#waiting.keys()]) this.#answer(id, undefined);
  }

  dispose(): void {
    this.#isOver = true;
    this.forget();
  }

  #answer(id: number, code: ColouredCode | null | undefined): void {
    this.#waiting.get(id)?.(code);
    this.#waiting.delete(id);
  }

  #running(): Worker {
    if (this.#worker) return this.#worker;
    const workerData: ColourWork = { engine: path.join(this.#dist, 'onig.wasm'), contributions: contributions() };
    const worker = new Worker(path.join(this.#dist, 'colourWorker.js'), { workerData });
    worker.unref();
    worker.on('message', ({ id, code }: ColourAnswer) => this.#answer(id, code));
    worker.on('error', () => this.#worker === worker && this.forget());
    this.#worker = worker;
    return worker;
  }
}

/** The contributions of the installed extensions about languages. */
function contributions(): readonly Contribution[] {
  return vscode.extensions.all.flatMap(({ extensionUri, packageJSON }) => {
    const { contributes } = packageJSON as { readonly contributes?: { readonly languages?: unknown; readonly grammars?: unknown } };
    const { languages, grammars } = contributes ?? {};
    return languages || grammars ? [{ folder: extensionUri.fsPath, manifest: { contributes: { languages, grammars } } }] : [];
  });
}

/** The rules of the theme with this id, read from the extension that contributes it; of a theme that is not found here, those of the editor's own. */
async function rulesOf(themeId: string): Promise<readonly ThemeRule[]> {
  const custom = vscode.workspace.getConfiguration('editor').get<unknown>('tokenColorCustomizations');
  const kind = KINDS[vscode.window.activeColorTheme.kind];
  const isWanted = (theme: ThemeEntry) => theme.id === themeId || theme.label === themeId;
  const found = themeFile(isWanted) ?? themeFile(({ uiTheme }) => uiTheme === kind, 'vscode.theme-defaults');
  if (!found) return [];
  const { themeRules } = await import('./themeRules.ts');
  return themeRules(found.file, themeId, custom, async (name) => {
    try {
      return new TextDecoder().decode(await vscode.workspace.fs.readFile(vscode.Uri.joinPath(found.folder, name)));
    } catch {
      return undefined;
    }
  });
}

interface ThemeEntry {
  readonly id?: unknown;
  readonly label?: unknown;
  readonly uiTheme?: unknown;
  readonly path?: unknown;
}

/** The file of a theme, below the folder of its extension. */
function themeFile(isWanted: (theme: ThemeEntry) => boolean, extension?: string): { folder: vscode.Uri; file: string } | undefined {
  for (const { id, extensionUri, packageJSON } of vscode.extensions.all) {
    if (extension !== undefined && id !== extension) continue;
    const { contributes } = packageJSON as { readonly contributes?: { readonly themes?: unknown } };
    const themes: readonly unknown[] = Array.isArray(contributes?.themes) ? contributes.themes : [];
    for (const one of themes) {
      const theme = (one ?? {}) as ThemeEntry;
      if (isWanted(theme) && typeof theme.path === 'string') return { folder: extensionUri, file: theme.path.replace(/^\.\//, '') };
    }
  }
  return undefined;
}
