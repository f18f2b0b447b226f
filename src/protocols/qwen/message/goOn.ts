import { t } from '../../../base/l10n.ts';
import type { Outgoing } from '../control.ts';
import { isRecord } from '../detect.ts';
import type { TalkSetup } from '../talk.ts';
import type { Turns } from '../turns.ts';
import type { YesNo } from '../yesNo.ts';

/** Offers to go on with a turn that ended with the agent or the window where it stopped, to be asked of agents that keep it (qwen.md §3.2). */
export function offerToGoOn(
  { brokeOff, keeps, peer }: Pick<TalkSetup, 'brokeOff' | 'keeps' | 'peer'>,
  { yesNo, outgoing, turns }: { readonly yesNo: YesNo; readonly outgoing: Outgoing; readonly turns: Turns },
): void {
  // What the user has typed meanwhile is sent when the agent is ready: they have said what comes next.
  if (!brokeOff || !keeps.history || peer.onlyMessages || turns.running) return;
  const title = t('{0} was ended in the middle of its work. Go on where it stopped?', peer.called);
  yesNo.ask({ title, ours: true }, (yes) => {
    if (!yes) return;
    void outgoing.ask({ subtype: 'continue_last_turn' }).then((reply) => {
      const accepted = reply.ok && isRecord(reply.payload) && reply.payload.accepted === true;
      if (!accepted) turns.note('info', reply.ok ? t('There was nothing to go on with.') : reply.message);
    });
  });
}
