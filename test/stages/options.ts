import { parseArgs } from 'node:util';
import { type Channel, channels } from '../workbench/pins.ts';
import { filesUnder } from './files.ts';

const stages = ['check', 'unit', 'rules', 'package', 'host', 'e2e'] as const;
export type Stage = (typeof stages)[number];

export interface Options {
  readonly stages: ReadonlySet<Stage>;
  /** Only test files whose path contains this. */
  readonly only: string | undefined;
  /** Only tests whose name matches this regular expression. */
  readonly name: string | undefined;
  /** Run the end-to-end tests whose names end with `.long`, too: rare cases in many variants. */
  readonly long: boolean;
  /** Take the pictures of windows in all their themes, not only in the first. */
  readonly pictures: boolean;
  /** The VS Code versions to use; each stage has its own default. */
  readonly channels: readonly Channel[] | undefined;
}

export const usage = `npm test -- [${stages.join('|')} ...] [--only TEXT] [--name REGEX] [--vscode current|floor|both] [--long] [--pictures]`;

/** Without a stage, all of them run. Throws with the usage on anything it does not know. */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      name: { type: 'string' },
      vscode: { type: 'string' },
      long: { type: 'boolean', default: false },
      pictures: { type: 'boolean', default: false },
    },
  });
  const chosen = new Set(positionals.map(stage));
  return {
    stages: chosen.size > 0 ? chosen : new Set(stages),
    only: values.only,
    name: values.name,
    long: values.long,
    pictures: values.pictures,
    channels: values.vscode === undefined ? undefined : values.vscode === 'both' ? channels : [channel(values.vscode)],
  };
}

/** The test files under a folder that `--only` admits. */
export const chosenFiles = (options: Options, folder: string): readonly string[] =>
  filesUnder(folder, '.test.ts').filter((file) => options.only === undefined || file.includes(options.only));

function stage(word: string): Stage {
  const found = stages.find((name) => name === word);
  if (!found) throw new Error(`unknown stage '${word}'\nusage: ${usage}`);
  return found;
}

function channel(word: string): Channel {
  const found = channels.find((name) => name === word);
  if (!found) throw new Error(`unknown VS Code version '${word}'\nusage: ${usage}`);
  return found;
}
