/** The state of a reader of a terminal's output: in text, after an escape, in a control sequence, or in a string (OSC, DCS, PM, APC, SOS). */
type State = 'text' | 'escape' | 'sequence' | 'string' | 'stringEscape';

/** Longest control sequence that is passed on, in characters. */
const LONGEST_SEQUENCE = 64;

/**
 * Removes from a program's output the commands that do more than show text: titles, the clipboard, links, questions to the terminal, moving over
 * lines above. Text, line ends, tabs, backspaces, colours and the erasing of a line stay. One for a stream: a sequence may come in pieces.
 * Linear, and keeps at most 64 characters.
 */
export class TerminalFilter {
  #state: State = 'text';
  #sequence = '';

  push(chunk: string): string {
    let passed = '';
    // Runs of plain text are passed on whole.
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const code = chunk.charCodeAt(at);
      if (this.#state === 'text' && !isControl(code)) continue;
      if (from < at) passed += chunk.slice(from, at);
      passed += this.#next(code);
      from = at + 1;
    }
    return passed + chunk.slice(from);
  }

  /** The text to pass on for one unit that is a control, or a part of a sequence. */
  #next(code: number): string {
    // Cancel and substitute end every sequence.
    if (code === 0x18 || code === 0x1a) return this.#to('text');
    switch (this.#state) {
      case 'text':
        return this.#control(code);
      case 'escape':
        return this.#afterEscape(code);
      case 'sequence':
        return this.#inSequence(code);
      case 'string':
        if (code === 0x1b) return this.#to('stringEscape');
        return code === 0x07 || code === 0x9c ? this.#to('text') : '';
      case 'stringEscape':
        return code === 0x5c ? this.#to('text') : this.#afterEscape(code);
    }
  }

  #control(code: number): string {
    if (code === 0x1b) return this.#to('escape');
    if (code === 0x9b) return this.#to('sequence');
    if (code === 0x90 || code === 0x98 || (code >= 0x9d && code <= 0x9f)) return this.#to('string');
    return code >= 0x08 && code <= 0x0d && code !== 0x0b && code !== 0x0c ? String.fromCharCode(code) : '';
  }

  #afterEscape(code: number): string {
    if (code === 0x5b) return this.#to('sequence');
    if (code === 0x1b) return this.#to('escape');
    // ] P X ^ _
    if (code === 0x5d || code === 0x50 || code === 0x58 || code === 0x5e || code === 0x5f) return this.#to('string');
    // Characters between announce one more.
    if (code >= 0x20 && code <= 0x2f) return '';
    return this.#to('text');
  }

  #inSequence(code: number): string {
    if (code === 0x1b) return this.#to('escape');
    if (code < 0x40 || code > 0x7e) {
      if (this.#sequence.length <= LONGEST_SEQUENCE) this.#sequence += String.fromCharCode(code);
      return '';
    }
    const parameters = this.#sequence;
    this.#to('text');
    const last = String.fromCharCode(code);
    // Hidden text (8) is not a colour.
    const colours = last === 'm' && /^[0-9;:]{0,64}$/.test(parameters) && !/(?:^|;)0*8(?:[;:]|$)/.test(withoutPalette(parameters));
    return colours || (last === 'K' && /^[0-2]?$/.test(parameters)) ? `\u001b[${parameters}${last}` : '';
  }

  #to(state: State): '' {
    this.#state = state;
    this.#sequence = '';
    return '';
  }
}

function isControl(code: number): boolean {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}

/** Without the numbers that choose from a palette or a mixture of colours. Behind colons they end at the next semicolon: `38:5;8` hides. */
function withoutPalette(parameters: string): string {
  return parameters.replace(/(?<![\d:])[345]8(?::[\d:]*|;5;\d*(?!:)|;2;\d*;\d*;\d*(?!:))(?=;|$)/g, '0');
}
