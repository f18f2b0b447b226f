import type { WireMessage } from './codec.ts';
import type { Peer } from './peer.ts';
import type { Recording } from './recording.ts';
import type { Dialect } from './versions.ts';
import type { Work } from './work.ts';

/** Output to the client. Records it during a turn for replay, too; approvals only where versions always did (wire.md §11). */
export class Outlet {
  readonly #peer: Peer;
  readonly #recording: Recording;
  readonly #work: Work;
  readonly #dialect: Dialect;

  constructor(peer: Peer, recording: Recording, work: Work, dialect: Dialect) {
    this.#peer = peer;
    this.#recording = recording;
    this.#work = work;
    this.#dialect = dialect;
  }

  event(message: WireMessage): void {
    if (this.#work.isCancelled && this.#isHeldBack(message)) return;
    if (this.#work.isRunning) this.#keep(message);
    this.#peer.event(message.type, message.payload);
  }

  /** Rejects when the client fails the request or the signal fires. `later`: sent after the client's handshake, not now. */
  request(message: WireMessage, id: string, signal: AbortSignal, later = false): Promise<unknown> {
    this.#keep(message);
    const answer = this.#peer.expect(id, signal);
    if (!later && !signal.aborted) this.show(message, id);
    return answer;
  }

  show({ type, payload }: WireMessage, id: string): void {
    this.#peer.show(type, id, payload);
  }

  #keep(message: WireMessage): void {
    const approvals = !this.#dialect.has('approvalSource');
    if (message.type === 'HookRequest' || (!approvals && message.type.startsWith('Approval'))) return;
    this.#recording.add(message);
  }

  /** True for messages that older versions send later, or not at all, once a turn is cancelled. */
  #isHeldBack({ type, payload }: WireMessage): boolean {
    if (type === 'TurnEnd') return !this.#dialect.has('cancelledTurnEnd');
    if (type !== 'ApprovalResponse' || !this.#dialect.has('approvalSource') || this.#dialect.has('promptEcho')) return false;
    void this.#work.over.then(() => setImmediate(() => this.#peer.event(type, payload)));
    return true;
  }
}
