/** User settings that make a workbench quiet and repeatable. */
export const quietSettings: Readonly<Record<string, unknown>> = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.settings.enableNaturalLanguageSearch': false,
  'workbench.reduceMotion': 'on',
  'chat.disableAIFeatures': true,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'update.showReleaseNotes': false,
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': 'off', // `false` is migrated in the middle of a run
  'extensions.ignoreRecommendations': true,
  'security.workspace.trust.enabled': false,
  'git.openRepositoryInParentFolders': 'never',
  'files.autoSave': 'off', // the browser build saves by itself, the desktop does not
  'editor.minimap.enabled': false,
  'editor.cursorBlinking': 'solid', // each blink is a frame
  'typescript.disableAutomaticTypeAcquisition': true,
  'terminal.integrated.gpuAcceleration': 'off', // so that the text of a terminal is in the page
  'diffEditor.renderSideBySide': true,
  'diffEditor.useInlineViewWhenSpaceIsLimited': false,
  'window.commandCenter': false,
  'window.autoDetectColorScheme': true, // the tests change what the system prefers
  'window.autoDetectHighContrast': true,
};

/**
 * The themes pictures are taken in: how their ids end (some versions put `Default` in front), the setting that names each for what the system
 * prefers, and the class it gives the workbench.
 */
export const themes = {
  dark: { name: 'Dark Modern', setting: 'workbench.preferredDarkColorTheme', mark: 'vs-dark' },
  light: { name: 'Light Modern', setting: 'workbench.preferredLightColorTheme', mark: 'vs' },
  contrast: { name: 'High Contrast', setting: 'workbench.preferredHighContrastColorTheme', mark: 'hc-black' },
  contrastLight: { name: 'High Contrast Light', setting: 'workbench.preferredHighContrastLightColorTheme', mark: 'hc-light' },
} as const;
export type Theme = keyof typeof themes;
