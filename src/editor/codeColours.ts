import { readFile } from 'node:fs/promises';
import { setImmediate as others } from 'node:timers/promises';
import * as onigModule from 'vscode-oniguruma';
import type { Registry } from 'vscode-textmate';
import * as textmateModule from 'vscode-textmate';
import type { CodeLook, ColouredCode } from '../bridge/contract.ts';
import type { Grammars } from './grammars.ts';
import type { ThemeRule } from './themeRules.ts';

/**
 * Colours code as the editor does before a language service has read it: by the installed grammars and the rules of the theme. Runs in a thread of
 * its own (colourWorker.ts).
 */

const onig = exportsOf(onigModule);
const textmate = exportsOf(textmateModule);

/** The exports of a module. Node gives an older kind of module as a default, a bundler gives it as it is. */
function exportsOf<T extends object>(module: T): T {
  return 'default' in module ? (module.default as T) : module;
}

/** Milliseconds for one line, of which the first of a language waits for its grammar, and for one piece of code; what comes after stays plain. */
const A_LINE = 2_000;
const IN_ALL = 4_000;
/** Milliseconds of work without a pause. */
const STRETCH = 8;
/** UTF-16 units; longer lines stay plain. */
const LONGEST_LINE = 2_000;
/** The colour of what no rule of a theme names; the first of the rules. Not a colour that is shown. */
const PLAIN = '#000001';

export class CodeColours {
  readonly #registry: Registry;
  readonly #grammars: Grammars;
  #rules: readonly ThemeRule[] | undefined;
  /** Serializes the work: a theme belongs to the registry. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(registry: Registry, grammars: Grammars) {
    this.#registry = registry;
    this.#grammars = grammars;
  }

  /** `engine`: the file with the engine for regular expressions, as WebAssembly. */
  static async load(engine: string, grammars: Grammars): Promise<CodeColours> {
    await onig.loadWASM({ data: await readFile(engine) });
    const registry = new textmate.Registry({
      onigLib: Promise.resolve({
        createOnigScanner: (patterns) => new onig.OnigScanner([...patterns]),
        createOnigString: (text) => new onig.OnigString(text),
      }),
      loadGrammar: async (scope) => {
        const file = grammars.fileOf(scope);
        const text = file === undefined ? undefined : await readFile(file, 'utf8').catch(() => undefined);
        return text === undefined || file === undefined ? null : textmate.parseRawGrammar(text, file);
      },
      getInjections: (scope) => [...grammars.injectionsOf(scope)],
    });
    return new CodeColours(registry, grammars);
  }

  /** Null for a language without a grammar. */
  colour(text: string, language: string, rules: readonly ThemeRule[]): Promise<ColouredCode | null> {
    const done = this.#last.then(() => this.#colour(text, language, rules));
    this.#last = done.catch(() => null);
    return done;
  }

  async #colour(text: string, language: string, rules: readonly ThemeRule[]): Promise<ColouredCode | null> {
    const scope = this.#grammars.scopeOf(language);
    const grammar = scope === undefined ? null : await this.#registry.loadGrammar(scope);
    if (!grammar) return null;
    if (this.#rules !== rules) {
      this.#rules = rules;
      this.#registry.setTheme({ settings: [{ settings: { foreground: PLAIN, background: PLAIN } }, ...rules] });
    }
    const looks = new CodeLooks(this.#registry.getColorMap());
    const lines: (readonly number[])[] = [];
    const begun = performance.now();
    let rested = begun;
    let state = textmate.INITIAL;
    for (const line of text.split('\n')) {
      const now = performance.now();
      if (now - begun > IN_ALL) break;
      if (now - rested > STRETCH) {
        await others();
        rested = performance.now();
      }
      if (line.length > LONGEST_LINE) {
        lines.push([]);
        continue;
      }
      const { tokens, ruleStack, stoppedEarly } = grammar.tokenizeLine2(line, state, A_LINE);
      state = ruleStack;
      lines.push(stoppedEarly ? [] : looks.runsOf(tokens, line.length));
    }
    return { looks: looks.all, lines };
  }
}

/** The looks in use, in the order in which they came; the first is plain. */
class CodeLooks {
  readonly all: CodeLook[] = [{}];
  readonly #colours: readonly string[];
  readonly #places = new Map<number, number>();

  constructor(colours: readonly string[]) {
    this.#colours = colours;
  }

  /** Lengths and looks of a line's tokens in turn; neighbours of one look are one run. */
  runsOf(tokens: Uint32Array, length: number): readonly number[] {
    const runs: number[] = [];
    for (let at = 0; at < tokens.length; at += 2) {
      const end = tokens[at + 2] ?? length;
      const size = end - (tokens[at] ?? 0);
      const look = this.#lookOf(tokens[at + 1] ?? 0);
      if (size <= 0) continue;
      if (runs.at(-1) === look) runs[runs.length - 2] = (runs.at(-2) ?? 0) + size;
      else runs.push(size, look);
    }
    return runs;
  }

  /** Bits 11 to 14 are the font style, bits 15 to 23 the colour (vscode-textmate, EncodedTokenAttributes). */
  #lookOf(attributes: number): number {
    const font = (attributes >>> 11) & 0b1111;
    const colour = (attributes >>> 15) & 0b111111111;
    const key = colour * 16 + font;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const name = this.#colours[colour];
    const isPlain = name === undefined || name.toLowerCase() === PLAIN;
    const place = isPlain && font === 0 ? 0 : this.all.push({ ...(isPlain ? {} : { colour: name }), ...(font === 0 ? {} : { font }) }) - 1;
    this.#places.set(key, place);
    return place;
  }
}
