/** The first of these colours of the editor that its theme has, as CSS. */
export function themeColour(names: readonly string[]): string | undefined {
  // The editor writes its colours there.
  const { style } = document.documentElement;
  return names.map((name) => style.getPropertyValue(`--vscode-${name}`).trim()).find((value) => value !== '');
}

export function isDark(): boolean {
  const { classList } = document.body;
  return !classList.contains('vscode-light') && !classList.contains('vscode-high-contrast-light');
}
