import assert from 'node:assert/strict';
import type { FromView, SessionLine, ToView } from '../../src/bridge/contract.ts';
import { openAnswers } from '../../src/bridge/outbox.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Intent } from '../../src/session/intents.ts';
import type { Session } from '../../src/session/model.ts';
import { reduce } from '../../src/session/reduce.ts';
import { HostConnection } from '../../webview/host.ts';
import { ChatRenderer } from '../../webview/render.ts';
import { frame, window } from './dom.ts';

/** Milliseconds after which whatever is drawn has been read. */
export const READ = 60_000;

/** A press of the pointer, so many milliseconds from now. */
export function clickAfter(milliseconds: number, detail = 1): never {
  const event = new window.MouseEvent('click', { bubbles: true, cancelable: true, detail });
  return Object.defineProperty(event, 'timeStamp', { value: performance.now() + milliseconds }) as never;
}

/** A chat in the document of this process, with this test as its host. */
export class Stage {
  readonly root = document.createElement('div');
  readonly sent: FromView[] = [];
  readonly #state: { saved: unknown };
  session: Session | undefined;
  readonly #source = new window.EventTarget();
  #seq = 0;

  private constructor(state: { saved: unknown }) {
    this.#state = state;
  }

  /** `state` is what the editor keeps for the view across reloads. */
  static async open(
    session: Session | undefined,
    options: { trusted?: boolean; strings?: Record<string, string>; state?: { saved: unknown }; lines?: readonly SessionLine[] } = {},
  ): Promise<Stage> {
    const stage = new Stage(options.state ?? { saved: undefined });
    document.body.replaceChildren(stage.root);
    const host = new HostConnection(
      {
        postMessage: (message) => void stage.sent.push(message as FromView),
        getState: () => stage.#state.saved,
        setState: (state) => {
          stage.#state.saved = JSON.parse(JSON.stringify(state));
        },
      },
      stage.#source as never,
    );
    new ChatRenderer(host, stage.root);
    stage.session = session;
    stage.post({ type: 'hello', strings: options.strings ?? {}, language: 'en', trusted: options.trusted ?? true });
    stage.post({
      type: 'sessions',
      list: options.lines ?? [],
      ...(session ? { active: session.id } : {}),
      profiles: [{ id: 'parley', name: 'Parley Agent', isDefault: true }],
    });
    if (session) stage.post({ type: 'snapshot', sessionId: session.id, seq: 0, session, answers: openAnswers(session) });
    await stage.settle();
    return stage;
  }

  post(message: ToView): void {
    this.#source.dispatchEvent(new window.MessageEvent('message', { data: message }) as never);
  }

  async happen(...events: readonly SessionEvent[]): Promise<void> {
    assert.ok(this.session);
    this.session = events.reduce(reduce, this.session);
    this.post({
      type: 'patch',
      sessionId: this.session.id,
      from: this.#seq + 1,
      seq: this.#seq + events.length,
      events,
      answers: openAnswers(this.session),
    });
    this.#seq += events.length;
    await this.settle();
  }

  /** Two frames: what a frame starts is drawn in the next. */
  async settle(): Promise<void> {
    await frame();
    await frame();
  }

  get intents(): readonly Intent[] {
    return this.sent.flatMap((message) => (message.type === 'intent' ? [message.intent] : []));
  }

  calls(method: string): readonly unknown[] {
    return this.sent.flatMap((message) => (message.type === 'call' && message.method === method ? [message.params] : []));
  }

  /** The call of the view that comes next under this method, once it is sent. */
  async call(method: string): Promise<{ readonly id: number; readonly params: unknown }> {
    for (let frames = 0; frames < 200; frames += 1) {
      const found = this.sent.find((message) => message.type === 'call' && message.method === method);
      if (found?.type === 'call') return found;
      await frame();
    }
    return assert.fail(`the view never called ${method}`);
  }

  reply(id: number, result: unknown): void {
    this.post({ type: 'reply', id, result });
  }

  find<E extends Element = HTMLElement>(selector: string): E {
    const found = this.root.querySelector<E>(selector);
    assert.ok(found, `nothing matches ${selector}`);
    return found;
  }

  all(selector: string): readonly HTMLElement[] {
    return [...this.root.querySelectorAll<HTMLElement>(selector)];
  }

  text(selector: string): string {
    return (this.find(selector).textContent ?? '').replace(/\s+/g, ' ').trim();
  }

  /** Presses the button that says, or is called, `name`. */
  async press(name: string, within = ''): Promise<void> {
    const buttons = this.all(`${within} button`);
    const button = buttons.find((one) => one.getAttribute('aria-label') === name || one.textContent?.trim() === name);
    assert.ok(
      button,
      `no button ${name} among ${buttons.map((one) => one.getAttribute('aria-label') ?? one.textContent?.trim()).join(', ')}`,
    );
    button.dispatchEvent(clickAfter(READ));
    await this.settle();
  }

  get composer(): HTMLTextAreaElement {
    return this.find<HTMLTextAreaElement>('.composer-text');
  }

  async type(text: string): Promise<void> {
    const { composer } = this;
    composer.value = text;
    composer.setSelectionRange(text.length, text.length);
    composer.dispatchEvent(new window.Event('input', { bubbles: true }) as never);
    await this.settle();
  }

  /** True when the view kept the key for itself. */
  async key(key: string, more: Record<string, unknown> = {}): Promise<boolean> {
    const event = new window.KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more });
    for (const [name, value] of Object.entries(more))
      if (!(name in event) || (event as never)[name] !== value) Object.defineProperty(event, name, { value });
    this.composer.dispatchEvent(event as never);
    await this.settle();
    return event.defaultPrevented;
  }
}
