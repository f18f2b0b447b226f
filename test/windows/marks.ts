import { readFileSync, writeFileSync } from 'node:fs';

/** Tests that cannot pass under Wine. */
export interface Mark {
  readonly reason: string;
  /** What the reason lies in: Wine, the test (it is about Unix), or the measure (time, memory). */
  readonly because: 'Wine' | 'Unix' | 'time';
  /** `FILE: NAME`, or a whole file, which then is not run. */
  readonly tests: readonly string[];
}

export const PAGE = 'docs/systems.md';
const [FROM, TO] = ['<!-- marks: npm run test:windows -- --table -->\n', '<!-- end of marks -->'];

export function readMarks(): readonly Mark[] {
  return JSON.parse(readFileSync('test/windows/marked.json', 'utf8')) as readonly Mark[];
}

/** The page for users of the project, with the table of the marks as they are. */
export function pageWithTable(): string {
  const page = readFileSync(PAGE, 'utf8');
  const [before, rest = ''] = page.split(FROM);
  return `${before}${FROM}${table(readMarks())}${TO}${rest.split(TO)[1] ?? ''}`;
}

export function writeTable(): void {
  writeFileSync(PAGE, pageWithTable());
}

function table(marks: readonly Mark[]): string {
  const cell = (text: string) => text.replaceAll('|', '\\|');
  const name = (test: string) => `\`${cell(test.replace(/^test\//, ''))}\``;
  const groups = marks.map(
    ({ reason, because, tests }) => `**${because}: ${cell(reason)}**\n\n${tests.map((test) => `- ${name(test)}`).join('\n')}\n`,
  );
  return `\n${groups.join('\n')}\n`;
}
