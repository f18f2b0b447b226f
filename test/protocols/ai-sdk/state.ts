import type { AiSdkSettings } from '../../../src/protocols/ai-sdk/schema.ts';
import { readSettings } from '../../../src/protocols/ai-sdk/server.ts';
import { type AiSdkSetup, type AiSdkState, newAiSdk, TIMING } from '../../../src/protocols/ai-sdk/state.ts';
import type { Turn } from '../../../src/session/model.ts';

export interface StateOptions {
  readonly setup?: Partial<AiSdkSetup>;
  readonly settings?: Partial<AiSdkSettings>;
  readonly options?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly mayHaveKey?: boolean;
  readonly flow?: 'unknown' | 'repost' | 'held';
  readonly past?: readonly Turn[];
}

/** The state of a conversation that has not begun, with ids that a test can name. */
export function newState({
  setup,
  settings,
  options,
  url = 'http://127.0.0.1:1/api/chat',
  flow,
  past = [],
  mayHaveKey = false,
}: StateOptions = {}): AiSdkState {
  return newAiSdk('00000000-0000-4000-8000-000000000000', {
    chatId: 'chat',
    setup: { name: null, cwd: '/w', tools: [], fileTools: [], timing: TIMING, problems: [], interrupted: null, ...setup },
    settings: { ...readSettings({ kind: 'http', url, headers: {}, cwd: '/w', ...(options ? { options } : {}) }).settings, ...settings },
    mayHaveKey,
    learned: { flow: flow ?? 'unknown', v5: false, resultUrl: null, told: false },
    past,
  });
}
