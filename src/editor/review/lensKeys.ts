/** The default keys of commands that lenses run, as the manifest binds them: what follows Ctrl+K. The editor tells no extension what a user has bound. */
export const LENS_KEYS: Readonly<Record<string, string>> = {
  'parley.acceptDiff': 'A',
  'parley.diffAnswers': 'Shift+A',
  'parley.rejectDiff': 'X',
  'parley.diffFeedback': 'Shift+X',
  'parley.toggleHunk': 'Shift+N',
  'parley.keepHunk': 'Shift+Y',
  'parley.undoHunk': 'Shift+N',
};

/** The keyboard of the window: in a remote window it may be of either kind. */
export type Keyboard = 'mac' | 'other' | 'either';

/** The tooltip of a lens: its title and the keys of its command; undefined for a lens without keys. */
export function lensTooltip(title: string, command: string, keyboard: Keyboard): string | undefined {
  const keys = LENS_KEYS[command];
  if (keys === undefined) return undefined;
  const other = `Ctrl+K ${keys}`;
  const mac = `⌘K ${keys.replace('Shift+', '⇧')}`;
  return `${title} (${{ mac, other, either: `${other}, ${mac}` }[keyboard]})`;
}
