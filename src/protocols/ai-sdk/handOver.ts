import { say } from '../../base/say.ts';
import type { Scene } from '../adapter.ts';
import type { HeldResults } from './heldResults.ts';
import { jsonOf, type OwnCall } from './ownCalls.ts';
import type { Timing } from './pause.ts';
import type { ChatResponse } from './response.ts';
import type { Server } from './server.ts';

interface HandOverDeps {
  readonly scene: Scene;
  readonly server: Server;
  readonly timing: Timing;
  readonly held: HeldResults;
  readonly response: () => ChatResponse | undefined;
}

/**
 * Gives an answer to a server that keeps its response open for it. Where it is not known whether it does, silence is taken for a sign; what
 * then fails, fails quietly, and the answer goes with the next request instead (ai-sdk.md §8.5).
 */
export async function handOver(call: OwnCall, deps: HandOverDeps): Promise<void> {
  const { timing, held, scene, server } = deps;
  const { settings, learned } = server;
  const response = deps.response();
  const { answer } = call;
  if (!response || !answer || call.handed || response.over.signal.aborted) return;
  if (settings.toolFlow === 'repost' || settings.toolFlow === 'user-message') return;
  const until = AbortSignal.any([response.over.signal, call.stop.signal]);
  const sure = settings.toolFlow === 'held' || call.awaited || learned.flow === 'held';
  if (!sure && !(await response.quiet(timing.quiet, until))) return;
  if (call.handed) return;
  call.handed = true;
  const result = answer.ok ? jsonOf(answer) : answer.text;
  const handed = await held.hand({ toolCallId: call.id, result, isError: !answer.ok }, until);
  if (handed.how === 'accepted') {
    call.acceptedAt = response.substance;
    learned.flow = 'held';
  } else if (handed.how === 'refused' && sure) {
    scene.emit({
      type: 'notice',
      notice: { level: 'error', text: say('The result was not taken: {0}', handed.why), next: ['openSettings'] },
    });
  }
}
