/** Letters of mathematics, which few fonts have besides those made for formulas. */
const LETTERS = /[\u{1d400}-\u{1d7ff}]/gu;
const BOLD = /[\u{1d400}-\u{1d433}\u{1d6a8}-\u{1d6e1}\u{1d7ce}-\u{1d7d7}]/u;

/** Whether some font of this computer has these letters: a box stands for those that none has, as wide for each. */
export function fontsHaveLetters(): boolean {
  const pen = document.createElement('canvas').getContext('2d');
  if (!pen) return true;
  pen.font = '100px math, sans-serif';
  return pen.measureText('𝑖').width !== pen.measureText('𝑚').width;
}

/** Writes a formula in the letters of all fonts; the browser would draw a single letter as one of mathematics. */
export function usePlainLetters(formula: Element): void {
  formula.classList.add('plain-letters');
  for (const leaf of formula.querySelectorAll('mi, mn, mo, mtext')) {
    const text = leaf.textContent ?? '';
    if (BOLD.test(text)) leaf.classList.add('bold');
    else if (leaf.localName === 'mi' && /^\p{L}$/u.test(text) && leaf.getAttribute('mathvariant') !== 'normal')
      leaf.classList.add('italic');
    if (leaf.childElementCount === 0) leaf.textContent = text.replace(LETTERS, (letter) => letter.normalize('NFKC'));
  }
}
