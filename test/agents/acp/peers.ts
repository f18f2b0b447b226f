import path from 'node:path';
import type { Launch } from '../../../src/protocols/adapter.ts';
import { bareEnvironment, type FakeModel, modernNode, newPlace, type Place, peerFolder, startModel, type Within } from '../lab.ts';

/** The seven real agents, each with the least settings it needs to talk to the scripted model and to nobody else. */
export interface Peer {
  readonly place: Place;
  readonly model: FakeModel;
  readonly launch: Extract<Launch, { kind: 'process' }>;
  remove(): Promise<void>;
}

interface Recipe {
  /** The program and its arguments, from the folder the agent is installed in. */
  command(folder: string): readonly string[];
  env(port: number, place: Place): Readonly<Record<string, string>>;
  prepare?(port: number, place: Place): void;
}

export const recipes = {
  gemini: {
    command: (folder) => [modernNode(), path.join(folder, '@google/gemini-cli/bundle/gemini.js'), '--acp'],
    env: (port) => ({ GEMINI_API_KEY: 'fake-key', GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}` }),
    prepare: (_port, place) =>
      place.put(
        '.gemini/settings.json',
        JSON.stringify({
          security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
          general: { enableAutoUpdate: false, disableAutoUpdate: true, sessionRetention: { enabled: false } },
        }),
      ),
  },
  qwen: {
    command: (folder) => [modernNode(), path.join(folder, '@qwen-code/qwen-code/cli-entry.js'), '--acp', '--auth-type', 'openai'],
    env: (port) => ({ OPENAI_API_KEY: 'fake-key', OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_MODEL: 'fake-model' }),
    prepare: (_port, place) =>
      place.put(
        '.qwen/settings.json',
        JSON.stringify({
          security: { auth: { selectedType: 'openai' } },
          tools: { toolSearch: { enabled: false } },
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
          general: { enableAutoUpdate: false, disableAutoUpdate: true },
        }),
      ),
  },
  opencode: {
    command: (folder) => [path.join(folder, `opencode-${process.platform}-${process.arch}/bin/opencode`), 'acp'],
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' }),
    prepare: (port, place) =>
      place.put(
        '.config/opencode/opencode.json',
        JSON.stringify({
          autoupdate: false,
          share: 'disabled',
          model: 'fake/fake-model',
          small_model: 'fake/fake-model',
          provider: {
            fake: {
              npm: '@ai-sdk/openai-compatible',
              name: 'Fake',
              options: { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'fake-key' },
              models: { 'fake-model': { name: 'Fake Model', tool_call: true, reasoning: true, limit: { context: 200000, output: 8192 } } },
            },
          },
          permission: { edit: 'ask', bash: 'ask', webfetch: 'ask' },
        }),
      ),
  },
  kimi: {
    command: (folder) => [modernNode(), path.join(folder, '@moonshot-ai/kimi-code/dist/main.mjs'), 'acp'],
    env: (port, place) => ({
      KIMI_CODE_HOME: path.join(place.home, '.kimi'),
      KIMI_CODE_NO_AUTO_UPDATE: '1',
      KIMI_MODEL_NAME: 'fake-model',
      KIMI_MODEL_API_KEY: 'fake-key',
      KIMI_MODEL_PROVIDER_TYPE: 'openai',
      KIMI_MODEL_BASE_URL: `http://127.0.0.1:${port}/v1`,
    }),
  },
  claude: {
    command: (folder) => [modernNode(), path.join(folder, '@agentclientprotocol/claude-agent-acp/dist/index.js')],
    env: (port) => ({
      ANTHROPIC_API_KEY: 'sk-ant-fake',
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_AUTOUPDATER: '1',
      // Otherwise a scripted model has to look for most tools first.
      ENABLE_TOOL_SEARCH: 'false',
      IS_SANDBOX: '1',
    }),
  },
  codex: {
    command: (folder) => [path.join(folder, `@zed-industries/codex-acp-${process.platform}-${process.arch}/bin/codex-acp`)],
    env: (_port, place) => ({ OPENAI_API_KEY: 'fake-key', CODEX_HOME: path.join(place.home, '.codex') }),
    prepare: (port, place) =>
      place.put(
        '.codex/config.toml',
        `model = "gpt-5.3-codex"
model_provider = "fake"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.fake]
name = "Fake"
base_url = "http://127.0.0.1:${port}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
requires_openai_auth = false
[analytics]
enabled = false
`,
      ),
  },
  copilot: {
    command: (folder) => [
      path.join(folder, `@github/copilot-${process.platform}-${process.arch}/copilot`),
      '--acp',
      '--no-auto-update',
      '--disable-client-telemetry',
    ],
    env: (port) => ({
      COPILOT_PROVIDER_BASE_URL: `http://127.0.0.1:${port}/v1`,
      COPILOT_PROVIDER_API_KEY: 'fake-key',
      COPILOT_MODEL: 'fake-model',
      COPILOT_OFFLINE: 'true',
      COPILOT_AUTO_UPDATE: 'false',
    }),
  },
} satisfies Readonly<Record<string, Recipe>>;

export type PeerName = keyof typeof recipes;

export async function startPeer(name: PeerName, within?: Within): Promise<Peer> {
  const recipe: Recipe = recipes[name];
  const place = newPlace(name, within);
  const model = await startModel({ cwd: place.cwd, tag: name }, within?.script);
  recipe.prepare?.(model.port, place);
  const [command = '', ...args] = recipe.command(peerFolder(name));
  return {
    place,
    model,
    launch: { kind: 'process', command, args, env: bareEnvironment(place, recipe.env(model.port, place)), cwd: place.cwd },
    async remove() {
      await model.stop();
      place.remove();
    },
  };
}
