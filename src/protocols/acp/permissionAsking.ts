import { t } from '../../base/l10n.ts';
import type { Ask } from '../../session/model.ts';
import type { OpenAsks } from './asks.ts';
import { askedCall, type CallState, type From, hearAsked, NOTHING_STOPPED } from './calls.ts';
import type { Memory } from './codec.ts';
import type { FileRequests } from './fileRequests.ts';
import { cancelledOutcome, type Outcome, permissionAsk, permissionReply } from './permissions.ts';
import type { Placing } from './placing.ts';
import type { PermissionRequest, WireCall } from './schema.ts';

/** How often a question is put again because the agent says something else of the call meanwhile. */
const MOST_CHANGES = 10;

export interface AskingScene {
  readonly asks: OpenAsks;
  readonly placing: Placing;
  readonly files: FileRequests;
  readonly memory: Memory;
  /** The call it is about, when there is a turn to show it in. */
  readonly call: CallState | undefined;
  /** The sub-agent that asks. */
  readonly asker: string | undefined;
}

export interface Answered {
  readonly outcome: Outcome;
  /** What the user saw when they answered. */
  readonly shown: Ask | undefined;
}

/** What the user answers is what they see: when the call turns out to be another while they are asked, the question is withdrawn and put anew. */
export async function askAsItIs(request: PermissionRequest, scene: AskingScene, signal: AbortSignal): Promise<Answered> {
  const { asks, memory } = scene;
  const running = memory.turns.current;
  const call = scene.call && request.toolCall && askedCall(scene.call, request.toolCall);
  const title = call?.title;
  const build = (id: string) => askNow(id, call?.title === title ? request : untitled(request), { ...scene, call });
  let round = newRound();
  const look = async ({ shown, changed }: Round) => {
    if (shown && JSON.stringify(await build(shown.id)) !== JSON.stringify(shown)) changed.abort();
  };
  const hear = (news: WireCall, from: From) => {
    // Another question about the same call is a question of its own.
    if (from === 'permission' || !call || !scene.call) return;
    hearAsked(call, scene.call, news, from, memory.turn ?? NOTHING_STOPPED);
    round.heard += 1;
    const { changed } = round;
    void look(round).catch(() => changed.abort());
  };
  scene.call?.watchers.add(hear);
  try {
    for (let changes = 0; changes <= MOST_CHANGES; changes++) {
      const now = newRound();
      round = now;
      const ask = async (id: string) => {
        let seen: number;
        let built: Ask;
        do {
          seen = now.heard;
          built = await build(id);
        } while (now.heard !== seen && now.heard <= MOST_CHANGES);
        now.shown = built;
        return built;
      };
      const outcome = await asks.ask<Outcome>(
        { ask, reply: (answer) => permissionReply(request, answer), cancelled: cancelledOutcome },
        AbortSignal.any([signal, now.changed.signal]),
      );
      const isOver = signal.aborted || memory.turns.current !== running || running?.stopping;
      if (!now.changed.signal.aborted || outcome !== cancelledOutcome || isOver) return { outcome, shown: now.shown };
    }
  } finally {
    scene.call?.watchers.delete(hear);
  }
  // It keeps changing what it asks: nobody can answer that.
  return { outcome: cancelledOutcome, shown: undefined };
}

/** One showing of a question. */
interface Round {
  shown: Ask | undefined;
  /** How often the agent said something of the call since it began. */
  heard: number;
  readonly changed: AbortController;
}

function newRound(): Round {
  return { shown: undefined, heard: 0, changed: new AbortController() };
}

async function askNow(id: string, request: PermissionRequest, { placing, files, memory, call, asker }: AskingScene): Promise<Ask> {
  await placing.idle();
  const ask = permissionAsk(id, request, call ?? memory.turns.stray(request.toolCall), { turnId: memory.turn?.id, asker });
  if (ask.kind !== 'approval' || ask.detail.type !== 'edit') return ask;
  const outside = await files.goOutside(ask.detail.diffs.map((diff) => diff.path));
  return outside ? { ...ask, title: t('{0} (outside the workspace)', ask.title) } : ask;
}

/** The call has got another title since: that is the one to show. */
function untitled({ title: _, ...request }: PermissionRequest): PermissionRequest {
  return request.toolCall ? { ...request, toolCall: { ...request.toolCall, title: undefined } } : request;
}
