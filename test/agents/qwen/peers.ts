import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Launch } from '../../../src/protocols/adapter.ts';
import { bareEnvironment, type FakeModel, modernNode, newPlace, type Place, peerFolder, startModel, type Within } from '../lab.ts';

/** The two real agents of this protocol, each with the least settings it needs to talk to the scripted model and to nobody else. */
export interface Peer {
  readonly place: Place;
  readonly model: FakeModel;
  readonly launch: Extract<Launch, { kind: 'process' }>;
  remove(): Promise<void>;
}
export type PeerName = 'qwen' | 'claude-code';
export const peerNames: readonly PeerName[] = ['qwen', 'claude-code'];

export async function startPeer(name: PeerName, within?: Within): Promise<Peer> {
  const place = newPlace(name, within);
  const model = await startModel({ cwd: place.cwd, tag: name }, within?.script);
  const launch = name === 'qwen' ? qwenLaunch(place, model.port) : claudeLaunch(place, model.port);
  return {
    place,
    model,
    launch: { kind: 'process', ...launch, cwd: place.cwd },
    async remove() {
      await model.stop();
      place.remove();
    },
  };
}

function qwenLaunch(place: Place, port: number) {
  place.put(
    '.qwen/settings.json',
    JSON.stringify({
      security: { auth: { selectedType: 'openai' } },
      tools: { toolSearch: { enabled: false } },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false, disableAutoUpdate: true },
    }),
  );
  return {
    command: modernNode(),
    args: [path.join(peerFolder('qwen'), '@qwen-code/qwen-code/cli-entry.js'), '--auth-type', 'openai'],
    env: bareEnvironment(place, {
      OPENAI_API_KEY: 'fake-key',
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
      OPENAI_MODEL: 'fake-model',
    }),
  };
}

function claudeLaunch(place: Place, port: number) {
  const folder = path.join(peerFolder('claude-code'), '@anthropic-ai');
  // The program itself; the file on the PATH is a stub until the package's install script has run.
  const native = path.join(folder, `claude-code-${process.platform}-${process.arch}`, 'claude');
  return {
    command: existsSync(native) ? native : path.join(folder, 'claude-code', 'bin', 'claude.exe'),
    args: [],
    env: bareEnvironment(place, {
      ANTHROPIC_API_KEY: 'sk-ant-fake',
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_AUTOUPDATER: '1',
      ENABLE_TOOL_SEARCH: 'false',
      IS_SANDBOX: '1',
    }),
  };
}
