import path from 'node:path';
import { t } from '../../base/l10n.ts';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import type { Log } from '../../base/log.ts';
import { isSameFile, realPathNow } from '../../protocols/paths.ts';
import type { SessionEvent } from '../../session/events.ts';
import { plain } from '../../session/lineEnds.ts';
import { mergedInto } from '../../session/merge.ts';
import type { AskId, CallId, Diff, Session, SessionId, TurnId } from '../../session/model.ts';
import { type Amendment, amendmentsOf } from '../../session/proposal.ts';
import { callsOf, diffsOf, findAsk } from '../../session/select.ts';
import type { SessionHost } from '../surface.ts';
import type { FileEffects } from './changeSet.ts';
import type { ChangeSets, PublishEvent } from './changeSets.ts';
import { notWritten } from './folders.ts';

/** An allowed edit whose agent has not made it yet. */
interface Waiting {
  readonly id: SessionId;
  readonly turnId?: TurnId | undefined;
  readonly callId?: CallId | undefined;
  readonly amendments: readonly (Amendment & { readonly file: string; readonly real: string })[];
}

/**
 * Writes what the user made of a proposal where its protocol cannot carry that to the agent: after the agent's own write. The agent is told with the
 * next prompt.
 */
export class Amendments implements Disposable {
  readonly #host: SessionHost;
  readonly #sets: ChangeSets;
  readonly #effects: FileEffects;
  readonly #publish: PublishEvent;
  readonly #log: Log;
  readonly #life = new Lifetime();
  #waiting: readonly Waiting[] = [];

  constructor(host: SessionHost, sets: ChangeSets, effects: FileEffects, publish: PublishEvent, log: Log) {
    this.#host = host;
    this.#sets = sets;
    this.#effects = effects;
    this.#publish = publish;
    this.#log = log;
    this.#life.own(host.onChange((id, { event, before }) => this.#follow(id, event, before)));
  }

  dispose(): void {
    this.#life.dispose();
  }

  #follow(id: SessionId, event: SessionEvent, before: Session): void {
    switch (event.type) {
      case 'ask.closed':
        return event.how === 'answered' ? this.#allowed(id, before, event.askId) : undefined;
      case 'call.changed': {
        const { status } = event.change;
        if (status === 'done') return this.#apply((one) => one.id === id && one.callId === event.callId);
        if (status === 'failed' || status === 'rejected' || status === 'cancelled')
          this.#waiting = this.#waiting.filter((one) => one.id !== id || one.callId !== event.callId);
        return;
      }
      case 'turn.ended':
        return this.#apply((one) => one.id === id && one.turnId === event.turnId);
      case 'link.closed':
        this.#waiting = this.#waiting.filter((one) => one.id !== id);
        return;
      default:
        return;
    }
  }

  #allowed(id: SessionId, before: Session, askId: AskId): void {
    const ask = findAsk(before, askId);
    if (ask?.kind !== 'approval' || ask.decision?.kind !== 'approval' || !ask.decision.effect.startsWith('allow')) return;
    const amendments = amendmentsOf(ask).map((one) => {
      const file = path.resolve(before.cwd, one.path);
      return { ...one, file, real: realPathNow(file) };
    });
    if (amendments.length > 0) this.#waiting = [...this.#waiting, { id, turnId: ask.turnId, callId: ask.callId, amendments }];
  }

  #apply(isMeant: (one: Waiting) => boolean): void {
    const due = this.#waiting.filter(isMeant);
    this.#waiting = this.#waiting.filter((one) => !due.includes(one));
    for (const one of due) {
      this.#write(one).catch((error: unknown) => this.#log.error('The edited proposal could not be written', error));
    }
  }

  async #write({ id, turnId, callId, amendments }: Waiting): Promise<void> {
    // Records the agent's text before the agreed text replaces it.
    await this.#sets.look(id);
    const agreed: Diff[] = [];
    for (const amendment of amendments)
      if (await this.#writeFile(id, amendment)) agreed.push({ ...amendment.agreed, path: this.#nameIn(id, callId, amendment) });
    if (agreed.length > 0 && turnId !== undefined && callId !== undefined)
      this.#publish(id, { type: 'call.amended', turnId, callId, diffs: agreed });
    await this.#sets.updateCorrections(id);
  }

  /** A call may name the file in another way than the request for its approval. */
  #nameIn(id: SessionId, callId: CallId | undefined, { path: name, file }: Waiting['amendments'][number]): string {
    const { turns = [], cwd = '' } = this.#host.get(id)?.store.now ?? {};
    const call = turns.flatMap(callsOf).find((one) => one.id === callId);
    const same = call && diffsOf(call).find((diff) => isSameFile(path.resolve(cwd, diff.path), file));
    return same?.path ?? name;
  }

  /** False where it was not written, which the user is told. */
  async #writeFile(id: SessionId, { path: name, file, real, written, wanted }: Waiting['amendments'][number]): Promise<boolean> {
    const present = await this.#effects.readText(file);
    const merged = typeof present === 'string' ? mergedInto(plain(present), written, wanted) : undefined;
    const refuse = (text: string, error: unknown) => {
      this.#log.warn(`${file}: ${String(error)}`);
      this.#publish(id, { type: 'notice', notice: { level: 'warn', text } });
      return false;
    };
    const differs = t('Your edit of the proposal for {0} was not written: the agent wrote or proposed something else.', name);
    if (typeof present !== 'string' || merged === undefined) return refuse(differs, 'it does not hold what was proposed');
    try {
      const write = () => this.#effects.writeText(file, merged, plain(present), real);
      await (this.#sets.of(id)?.applyEditedProposal(file, write) ?? write());
      return true;
    } catch (error) {
      return refuse(notWritten(name, error), error);
    }
  }
}
