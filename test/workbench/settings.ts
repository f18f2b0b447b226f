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
  'terminal.integrated.gpuAcceleration': 'off', // so that the text of a terminal is in the page
  'diffEditor.renderSideBySide': true,
  'diffEditor.useInlineViewWhenSpaceIsLimited': false,
  'window.commandCenter': false,
};

/** The themes pictures are taken in, by the class they give the workbench. */
export const themes = {
  dark: { setting: 'Default Dark Modern', mark: 'vs-dark' },
  light: { setting: 'Default Light Modern', mark: 'vs' },
  contrast: { setting: 'Default High Contrast', mark: 'hc-black' },
} as const;
export type Theme = keyof typeof themes;
