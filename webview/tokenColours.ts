import type { Host } from './host.ts';

/** Applies the active theme's code colours to the page, now and after each theme change. */
export function keepTokenColours(host: Host): void {
  const { body, documentElement } = document;
  let shown = '';
  const update = async (): Promise<void> => {
    // The editor puts the id of its theme on the body of every webview.
    const theme = body.dataset.vscodeThemeId ?? '';
    if (theme === shown) return;
    shown = theme;
    const colours = await host.call('tokenColours', { theme }).catch(() => ({}));
    if (theme !== shown) return;
    for (const name of [...documentElement.style]) if (name.startsWith('--parley-token-')) documentElement.style.removeProperty(name);
    for (const [role, colour] of Object.entries(colours)) documentElement.style.setProperty(`--parley-token-${role}`, colour);
  };
  void update();
  new MutationObserver(() => void update()).observe(body, { attributes: true, attributeFilter: ['data-vscode-theme-id'] });
}
