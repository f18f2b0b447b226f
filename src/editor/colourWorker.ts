import { parentPort, workerData } from 'node:worker_threads';
import type { ColourRequest, ColourWork } from './codeColouring.ts';
import { CodeColours } from './codeColours.ts';
import { grammarsOf } from './grammars.ts';
import type { ThemeRule } from './themeRules.ts';

// A thread of its own: no grammar, however slow on an odd text, holds up the editor. codeColouring.ts ends it when it does not answer.

const { engine, contributions } = workerData as ColourWork;
const colours = CodeColours.load(engine, grammarsOf(contributions));
let known: readonly ThemeRule[] = [];
parentPort?.on('message', ({ id, text, language, rules = known }: ColourRequest) => {
  known = rules;
  const answered = colours.then((all) => all.colour(text, language, rules)).catch(() => null);
  void answered.then((code) => parentPort?.postMessage({ id, code }));
});
