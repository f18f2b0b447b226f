/** The VS Code versions the tests run in: the newest, and the oldest one that `engines.vscode` admits. */
export const channels = ['current', 'floor'] as const;
export type Channel = (typeof channels)[number];
