/** An agent many people have: how it is started, and where it comes from. Data only; nothing here is installed or run by itself. */
export interface KnownAgent {
  readonly id: string;
  readonly name: string;
  readonly protocol: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The package of the npm registry that brings the command. */
  readonly npm?: string;
}

/** acp.md §15. */
export const knownAgents: readonly KnownAgent[] = [
  { id: 'gemini', name: 'Gemini CLI', protocol: 'acp', command: 'gemini', args: ['--acp'], npm: '@google/gemini-cli' },
  { id: 'qwen', name: 'Qwen Code', protocol: 'acp', command: 'qwen', args: ['--acp'], npm: '@qwen-code/qwen-code' },
  { id: 'opencode', name: 'OpenCode', protocol: 'acp', command: 'opencode', args: ['acp'], npm: 'opencode-ai' },
  { id: 'kimi', name: 'Kimi Code', protocol: 'acp', command: 'kimi', args: ['acp'], npm: '@moonshot-ai/kimi-code' },
  { id: 'claude', name: 'Claude', protocol: 'acp', command: 'claude-agent-acp', args: [], npm: '@agentclientprotocol/claude-agent-acp' },
  { id: 'claude-code', name: 'Claude Code', protocol: 'qwen', command: 'claude', args: [], npm: '@anthropic-ai/claude-code' },
  { id: 'codex', name: 'Codex', protocol: 'acp', command: 'codex-acp', args: [], npm: '@agentclientprotocol/codex-acp' },
  { id: 'copilot', name: 'GitHub Copilot', protocol: 'acp', command: 'copilot', args: ['--acp'], npm: '@github/copilot' },
];
