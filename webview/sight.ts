/** Elements that the browser skips out of sight, and the work to do for each once it draws them. */
const unseen = new Map<Element, () => void>();

/**
 * True when the element is being drawn. Otherwise `later` runs once it may be: a change to a skipped element costs the browser time in every frame
 * from then on.
 */
export function isDrawnNow(element: Element, later: () => void): boolean {
  if (typeof element.checkVisibility !== 'function' || element.checkVisibility({ contentVisibilityAuto: true })) return true;
  if (unseen.size === 0) document.addEventListener('contentvisibilityautostatechange', wake, true);
  unseen.set(element, later);
  return false;
}

function wake(event: Event): void {
  if ((event as ContentVisibilityAutoStateChangeEvent).skipped) return;
  for (const [element, later] of unseen) {
    if (element.isConnected && !(event.target as Element).contains(element)) continue;
    unseen.delete(element);
    if (element.isConnected) later();
  }
  if (unseen.size === 0) document.removeEventListener('contentvisibilityautostatechange', wake, true);
}

/** Tells the size of the window now, and whenever it has changed. */
export function reportSize(
  view: Pick<Window, 'outerWidth' | 'outerHeight' | 'addEventListener'>,
  report: (size: { width: number; height: number }) => void,
): void {
  let told = '';
  const tell = () => {
    const size = { width: Math.round(view.outerWidth), height: Math.round(view.outerHeight) };
    const isKnown = size.width > 0 && size.height > 0;
    if (!isKnown || JSON.stringify(size) === told) return;
    told = JSON.stringify(size);
    report(size);
  };
  // A page is not resized where only the rest of the window is: it looks again with each message of the host.
  for (const event of ['resize', 'focus', 'message']) view.addEventListener(event, tell);
  tell();
}
