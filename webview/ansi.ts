// String sequences (OSC, DCS, PM, APC), then CSI, then the two- and three-byte escapes.
const SEQUENCES = /\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[ -/]*[0-~]?/g;
const CONTROLS = /[\u0000-\u0007\u000b-\u000c\u000e-\u001f\u007f-\u009f]/g;

/** The output without control sequences other than colours; sequences may span lines. */
export function onlyColours(raw: string): string {
  return raw.replace(SEQUENCES, (found) => (/^\u001b\[[0-9;]*m$/.test(found) ? found : ''));
}

/** Terminal output as plain text: control sequences dropped, carriage returns and backspaces applied line by line. Linear. */
export function plainOutput(raw: string): string {
  const text = raw.replace(SEQUENCES, '');
  const lines = /[\r\b]/.test(text) ? text.split('\n').map(overtyped).join('\n') : text;
  return lines.replace(CONTROLS, '');
}

/** The final state of one line; carriage returns at its end overwrite nothing. */
function overtyped(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === '\r') end -= 1;
  const shown = line.slice(line.lastIndexOf('\r', end - 1) + 1, end);
  if (!shown.includes('\b')) return shown;
  const kept: string[] = [];
  for (let at = 0; at < shown.length; at++) {
    if (shown[at] === '\b') kept.pop();
    else kept.push(shown[at] ?? '');
  }
  return kept.join('');
}
