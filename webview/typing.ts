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
