/** Milliseconds between two reports. */
const EVERY = 250;

/** Tells the host that the user is typing in the page, a few times a second at most, so that nothing takes the focus from them. */
export function reportTyping(root: HTMLElement, report: () => void, now: () => number = () => performance.now()): void {
  let last = Number.NEGATIVE_INFINITY;
  root.addEventListener('input', () => {
    if (now() - last < EVERY) return;
    last = now();
    report();
  });
}

/** Keeps the second key of the editor's shortcuts, which begin with Ctrl+K or Cmd+K, from being typed into the page: the editor receives it all the same. */
export function ignoreChords(target: EventTarget): void {
  let isChord = false;
  target.addEventListener(
    'keydown',
    (event) => {
      const { key, ctrlKey, metaKey } = event as KeyboardEvent;
      if (['Control', 'Meta', 'Shift', 'Alt'].includes(key)) return;
      if (isChord && key.length === 1) event.preventDefault();
      isChord = !isChord && key.toLowerCase() === 'k' && (ctrlKey || metaKey);
    },
    true,
  );
}
