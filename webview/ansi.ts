// String sequences (OSC, DCS, PM, APC), then CSI, then the two- and three-byte escapes.
const SEQUENCES = /\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[ -/]*[0-~]?/g;
const CONTROLS = /[\u0000-\u0007\u000b-\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Without the control sequences other than colours, which may go over the end of a line. */
export function onlyColours(raw: string): string {
  return raw.replace(SEQUENCES, (found) => (/^\u001b\[[0-9;]*m$/.test(found) ? found : ''));
}

/** Terminal output as plain text: control sequences dropped, carriage returns and backspaces carried out line by line. */
export function plainOutput(raw: string): string {
  const text = raw.replace(SEQUENCES, '').replace(/\r+\n/g, '\n');
  const lines = /[\r\b]/.test(text) ? text.split('\n').map(overtyped).join('\n') : text;
  return lines.replace(CONTROLS, '');
}

function overtyped(line: string): string {
  const last = line.lastIndexOf('\r', line.length - 2);
  let shown = (last < 0 ? line : line.slice(last + 1)).replace(/\r/g, '');
  while (shown.includes('\b')) {
    const next = shown.replace(/[^\b]?\u0008/g, '');
    if (next === shown) break;
    shown = next;
  }
  return shown;
}
