/** Texts to measure with: the same bytes everywhere for the same size. */
export const END_MARK = 'ENDMARK';

const WORDS =
  'the agent opens a file reads config writes patch runs tests build module function class value returns error stack session stream editor diff approve line column server request cancel buffer index layout render state event queue worker 修改 文件 会话 审批 工具 测试'.split(
    ' ',
  );
const LANGUAGES = ['ts', 'python', 'bash', 'json', 'rust', 'go'];

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

/** A reply of about `size` characters: prose, headings, lists, tables, code. */
export function reply(size: number): string {
  const next = random(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const words = (count: number) =>
    Array.from({ length: count }, () => {
      const word = pick(WORDS);
      const chance = next();
      return chance < 0.04
        ? `\`${word}.ts\``
        : chance < 0.06
          ? `**${word}**`
          : chance < 0.07
            ? `[${word}](https://example.com/${word})`
            : word;
    }).join(' ');
  const block = () => {
    const chance = next();
    if (chance < 0.45) return `${words(30 + Math.floor(next() * 60))}.\n\n`;
    if (chance < 0.62) return `${Array.from({ length: 5 }, () => `- ${words(10)}\n`).join('')}\n`;
    if (chance < 0.7) return `${Array.from({ length: 4 }, (_, n) => `${n + 1}. ${words(8)}\n   - ${words(6)}\n`).join('')}\n`;
    if (chance < 0.9) return `\`\`\`${pick(LANGUAGES)}\n${code(20, pick)}\`\`\`\n\n`;
    return chance < 0.95 ? `| a | b |\n|---|---|\n${`| ${words(2)} | ${words(3)} |\n`.repeat(5)}\n` : `> ${words(20)}\n\n`;
  };
  let text = '';
  for (let section = 1; text.length < size; section += 1) {
    text += `## ${section}. ${pick(WORDS)}\n\n`;
    for (let count = 0; count < 4 && text.length < size; count += 1) text += block();
  }
  return closed(text, size);
}

/** One single block of code: the worst case for views that read the last block again. */
export function oneFence(size: number): string {
  const next = random(9);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  let text = 'Here is the file.\n\n```ts\n';
  while (text.length < size - 20) text += code(20, pick);
  return `${text}\`\`\`\n\n${END_MARK}\n`;
}

function code(lines: number, pick: <T>(list: readonly T[]) => T): string {
  return Array.from(
    { length: lines },
    (_, n) => `${'  '.repeat(n % 3)}const ${pick(WORDS)}_${n} = await ${pick(WORDS)}("${pick(WORDS)}", ${n}) // ${pick(WORDS)}\n`,
  ).join('');
}

function closed(text: string, size: number): string {
  return `${text.slice(0, size - 30)}\n\`\`\`\n\n${END_MARK}\n`;
}

/** The text in `count` pieces of nearly one length. */
export function pieces(text: string, count: number): readonly string[] {
  const step = text.length / count;
  return Array.from({ length: count }, (_, n) => text.slice(Math.round(n * step), Math.round((n + 1) * step)));
}
