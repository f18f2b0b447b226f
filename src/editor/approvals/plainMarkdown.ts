/** Converts Markdown to readable plain lines: no marks of emphasis, headings, code or links. Text in code stays unchanged. */
export function plainMarkdown(text: string): string {
  let inCode = false;
  const lines = text.split('\n').flatMap((line) => {
    if (/^\s*(?:```|~~~)/.test(line)) {
      inCode = !inCode;
      return [];
    }
    return [inCode ? line : plainLine(line)];
  });
  return lines.join('\n');
}

function plainLine(line: string): string {
  return line
    .replace(/^\s{0,3}#{1,6}\s+/, '')
    .replace(/^(\s*)[*+]\s+/, '$1- ')
    .split(/(?<!`)(`{1,9}[^`]{1,2000}`{1,9})/)
    .map((piece, at) =>
      at % 2 === 1
        ? piece.replace(/^`+|`{1,9}$/g, '')
        : piece.replace(/!?\[([^\][]{0,500})\]\([^()]{0,2000}\)/g, '$1').replace(/(\*\*|__|~~)(?=\S)(.{1,500}?)\1/g, '$2'),
    )
    .join('');
}
