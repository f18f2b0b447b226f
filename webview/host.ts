import type { Calls, FromView, ToView, ViewCall } from '../src/bridge/contract.ts';
import { TypingGuard } from './typing.ts';

/** The API that the editor gives a webview, once per page. */
export interface EditorApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}
declare function acquireVsCodeApi(): EditorApi;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** The extension host, as the view sees it: messages out, messages in, questions with answers, and state that outlives a reload. */
export class HostConnection {
  readonly #api: EditorApi;
  readonly #source: EventTarget;
  readonly #waiting = new Map<number, Waiting>();
  /** The host's messages that have to wait for the user's typing. */
  readonly typing = new TypingGuard();
  #calls = 0;

  /** Messages of the host arrive as events of `source`. */
  constructor(api: EditorApi = acquireVsCodeApi(), source: EventTarget = window) {
    this.#api = api;
    this.#source = source;
  }

  post(message: FromView): void {
    this.#api.postMessage(message);
  }

  /** Rejects with the host's message when it cannot do it. */
  call<M extends keyof Calls>(method: M, params: Calls[M]['params']): Promise<Calls[M]['result']> {
    this.#calls += 1;
    const id = this.#calls;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.post({ type: 'call', id, method, params } as ViewCall);
    return answer as Promise<Calls[M]['result']>;
  }

  /** Listens to every message but the answers to calls, which go to the caller. */
  onMessage(listener: (message: ToView) => void): void {
    this.#source.addEventListener('message', (event) => {
      const message = (event as MessageEvent<ToView>).data;
      if (message.type !== 'reply' && message.type !== 'failed') return listener(message);
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.type === 'reply') waiting?.resolve(message.result);
      else waiting?.reject(new Error(message.message));
    });
  }

  get saved(): unknown {
    return this.#api.getState();
  }
  save(state: unknown): void {
    this.#api.setState(state);
  }
}
