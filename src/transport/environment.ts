/** Variables that let their holder act as Parley or its bundled agent: the agent's token, the address of the editor's tools with its token, the model's key. */
const SECRETS = new Set(['PARLEY_AGENT_TOKEN', 'PARLEY_MCP_URL', 'PARLEY_MODEL_API_KEY']);

/** The variables a command of an agent may see: all but Parley's own secrets, in whatever case they are written. */
export function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SECRETS.has(name.toUpperCase())));
}
