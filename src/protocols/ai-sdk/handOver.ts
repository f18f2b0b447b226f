import { t } from '../../base/l10n.ts';
import type { Notice } from '../../session/model.ts';
import type { AdapterContext } from '../adapter.ts';
import type { HeldResults, Refused } from './heldResults.ts';
import { jsonOf, type OwnCall } from './ownCalls.ts';
import type { Timing } from './pause.ts';
import type { ChatResponse } from './response.ts';
import type { Server } from './server.ts';

interface HandOverDeps {
  readonly scene: AdapterContext;
  readonly server: Server;
  readonly timing: Timing;
  readonly held: HeldResults;
  readonly response: () => ChatResponse | undefined;
  /** Asks the user for a key; false when there is none. Never rejects. */
  readonly newKey: (why: string, signal: AbortSignal) => Promise<boolean>;
  /** The server took an answer while its response was open. */
  readonly accepted: () => void;
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
  const result = { toolCallId: call.id, result: answer.ok ? jsonOf(answer) : answer.text, isError: !answer.ok };
  const refused = async ({ why, key }: Refused): Promise<boolean> => {
    // Where it is not known whether the server waits for it, only a long silence makes a refusal worth a word.
    if (!sure && !(await response.quiet(timing.doubt, until))) return false;
    if (key !== undefined && (await deps.newKey(key, until))) return true;
    if (!until.aborted) scene.emit({ type: 'notice', notice: refusalNotice(why) });
    return false;
  };
  const handed = await held.hand(result, until, refused);
  if (handed.how !== 'accepted') return;
  call.acceptedAt = response.substance;
  learned.flow = 'held';
  deps.accepted();
}

function refusalNotice(why: string): Notice {
  return { level: 'error', text: t('The result was not taken: {0}', why), next: ['openSettings'] };
}
