/** What the bar below the input leaves out for want of room, the first first. The head names the agent then; the tooltip of the pill has all of it. */
const PARTS = ['agent', 'meter', 'mode'];
let stop: (() => void) | undefined;

/** Follows the room of the bar around the pill: whole parts are left out before a word is cut. Called with nothing, it ends that. */
export function fitBar(pill: Element | undefined): void {
  stop?.();
  stop = undefined;
  if (!pill) delete document.body.dataset.headAgent;
  if (!pill || typeof ResizeObserver !== 'function') return;
  // The pill is drawn before it is in the page.
  queueMicrotask(() => {
    const bar = pill.closest<HTMLElement>('.composer-bar');
    const room = pill.parentElement;
    const text = pill.querySelector('.pill-text');
    if (!bar || !room || !text) return;
    const fit = () => leaveOut(bar, text);
    const sizes = new ResizeObserver(fit);
    const words = new MutationObserver(fit);
    sizes.observe(room);
    words.observe(pill, { childList: true, characterData: true, subtree: true });
    stop = () => {
      sizes.disconnect();
      words.disconnect();
    };
  });
}

function leaveOut(bar: HTMLElement, text: Element): void {
  bar.dataset.fitting = '';
  for (let out = 0; out <= PARTS.length; out += 1) {
    bar.dataset.out = PARTS.slice(0, out).join(' ');
    const words = [...text.children].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0);
    if (words <= text.getBoundingClientRect().width + 0.1) break;
  }
  delete bar.dataset.fitting;
  const agent = text.querySelector('.pill-agent');
  if (agent && agent.getBoundingClientRect().width === 0) document.body.dataset.headAgent = '';
  else delete document.body.dataset.headAgent;
}
