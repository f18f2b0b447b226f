/** The texts of an answer as plain text, as a reader sees them: with the marks of lists, and without the bars and drawings of code. */
export function plainAnswer(texts: readonly HTMLElement[]): string {
  return texts.map(plain).join('\n\n');
}

/** Only what is drawn has lines, so a copy of the text stands beside it for a moment. */
function plain(text: HTMLElement): string {
  const copy = text.cloneNode(true) as HTMLElement;
  for (const extra of copy.querySelectorAll('.code-bar, .diagram')) extra.remove();
  for (const drawn of copy.querySelectorAll('.code.drawn')) drawn.classList.remove('drawn');
  for (const item of copy.querySelectorAll('li')) beginning(item).prepend(marked(item));
  text.after(copy);
  // biome-ignore lint/performance/useDomNodeTextContent: the other one joins lines
  const words = copy.innerText;
  copy.remove();
  return words.trim();
}

/** Where the words of an item begin: those of a loose list are paragraphs. */
function beginning(item: HTMLElement): HTMLElement {
  const first = item.firstElementChild;
  return first instanceof HTMLElement && first.localName === 'p' && !item.firstChild?.textContent?.trim() ? first : item;
}

/** The mark of an item, further in for each list around its own. */
function marked(item: HTMLElement): HTMLElement {
  const list = item.parentElement;
  let depth = 0;
  for (let outer = list?.parentElement?.closest('li'); outer; outer = outer.parentElement?.closest('li')) depth += 1;
  const box = item.querySelector(':scope > .task-box, :scope > p > .task-box');
  box?.remove();
  const number = Number(list?.getAttribute('start') ?? 1) + [...(list?.children ?? [])].indexOf(item);
  const mark = document.createElement('span');
  mark.className = 'copied-mark';
  mark.textContent = '  '.repeat(depth) + (box?.textContent ?? (list?.localName === 'ol' ? `${number}. ` : '- '));
  return mark;
}
