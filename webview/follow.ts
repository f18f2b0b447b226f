import { targetAt } from './markdown.ts';
import type { Act } from './view.ts';

/** Presses on links and code buttons inside drawn markdown. Nothing in there acts by itself. */
export function followLinks(root: HTMLElement, act: Act): void {
  root.addEventListener('click', (event) => {
    const pressed = event.target;
    if (!(pressed instanceof Element)) return;
    const button = pressed.closest<HTMLElement>('[data-code]');
    if (button) {
      const block = button.closest('.code');
      if (button.dataset.code === 'source') return void block?.classList.toggle('drawn');
      if (button.dataset.code === 'wrap') return void block?.classList.toggle('unwrapped');
      const text = block?.querySelector('code')?.textContent?.replace(/\n$/, '') ?? '';
      return button.dataset.code === 'copy' ? act.copy(text) : act.insertAtCursor(text);
    }
    const link = pressed.closest('a');
    if (!link) return;
    event.preventDefault();
    const target = targetAt(link);
    if (target?.kind === 'web') act.openLink(target.uri);
    else if (target) act.open(target.path, target.line);
  });
}
