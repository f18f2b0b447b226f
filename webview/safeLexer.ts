import { Lexer, type MarkedOptions, type Token, Tokenizer } from 'marked';

/** With more `*` and `_` than this in one paragraph, heading, cell or list line they stay what they are: pairing them takes quadratic time. */
const MOST_MARKS = 200;
/** Quotes and lists inside one another; what lies deeper is a paragraph. Each level is a call within a call. */
const DEEPEST = 50;

/** Reads markdown in a time that grows with its length, and without running out of stack, whatever it is made of. */
export class SafeLexer extends Lexer {
  /** The text being read has too many marks to pair them. */
  crowded = false;

  constructor(options: MarkedOptions) {
    super({ ...options, tokenizer: new BoundTokenizer() });
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    const outer = this.crowded;
    this.crowded = outer || marksIn(src) > MOST_MARKS;
    try {
      return super.inlineTokens(src, tokens);
    } finally {
      this.crowded = outer;
    }
  }
}

class BoundTokenizer extends Tokenizer {
  #depth = 0;

  /** The first rule that is tried; a word with its marks is taken at once, as every other rule would look through the rest of it again. */
  override escape(src: string): ReturnType<Tokenizer['escape']> {
    const marks = this.lexer instanceof SafeLexer && this.lexer.crowded ? /^[*_][\w*]*/.exec(src)?.[0] : undefined;
    return marks === undefined ? super.escape(src) : { type: 'escape', raw: marks, text: marks };
  }

  override blockquote(src: string): ReturnType<Tokenizer['blockquote']> {
    return this.#within(() => super.blockquote(src));
  }

  override list(src: string): ReturnType<Tokenizer['list']> {
    return this.#within(() => super.list(src));
  }

  #within<T>(read: () => T): T | undefined {
    if (this.#depth >= DEEPEST) return undefined;
    this.#depth += 1;
    try {
      return read();
    } finally {
      this.#depth -= 1;
    }
  }
}

/** Those in code are no marks. */
function marksIn(src: string): number {
  return src.replace(/`[^`]*`/g, '').match(/[*_]/g)?.length ?? 0;
}
