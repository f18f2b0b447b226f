import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import type { Scene, suite } from '../../e2e/suite.ts';

/** The steps of one story, each a test: once one has failed, the ones after it fail at once and say so. */
export function stepsOf(agent: string, inWindow: ReturnType<typeof suite>) {
  let broken: string | undefined;
  return (title: string, body: (person: Person, folder: string) => Promise<void>) =>
    test(`${agent}: ${title}`, { timeout: 280_000 }, (t) => {
      assert.equal(broken, undefined, 'an earlier step failed');
      broken = title;
      return inWindow(async (scene) => {
        await body(new Person(scene, agent), scene.folder);
        broken = undefined;
      })(t);
    });
}

/** What the user does and sees with one agent; pictures go to out/screenshots/agents/<agent>. */
export class Person {
  readonly scene: Scene;
  readonly #agent: string;

  constructor(scene: Scene, agent: string) {
    this.scene = scene;
    this.#agent = agent;
  }

  get window() {
    return this.scene.window;
  }

  get chat() {
    return this.scene.window.chat;
  }

  picture(name: string, themes: Parameters<Scene['window']['pictures']>[1] = ['dark']): Promise<void> {
    return this.window.pictures(`agents/${this.#agent}/${name}`, themes);
  }

  /** Opens the chat, picks an agent by the name the list gives it, and waits until it is ready. */
  async pickAgent(label: string): Promise<void> {
    const { window, chat } = this;
    await window.openChat();
    await window.command('Parley: New Session with Agent');
    await window.pick.row(label).first().waitFor();
    await this.picture('picker');
    await window.pick.choose(label);
    await window.pick.gone();
    await window.openChat();
    await this.ready();
    await chat.frame.locator('.agent', { hasText: label }).waitFor();
  }

  /** Reloads the window and waits until the agent is there again. */
  async reload(): Promise<void> {
    await this.window.reload();
    await this.window.openChat();
    await this.ready();
  }

  async ready(): Promise<void> {
    await this.chat.frame.locator('.agent[data-state=ready]').waitFor({ timeout: 120_000 });
  }

  /** Says something and gives the turn that answers it. */
  async say(text: string): Promise<Locator> {
    const { chat } = this;
    const before = await chat.turns.count();
    await chat.say(text);
    const turn = chat.turns.nth(before);
    await turn.waitFor();
    return turn;
  }

  /** Waits for an approval on the screen; its title. */
  async asked(): Promise<string> {
    const { pick } = this.window;
    await pick
      .row(/^(?:Allow|Approve|Look first)/)
      .first()
      .waitFor({ timeout: 120_000 });
    return (await pick.title.textContent()) ?? '';
  }

  /** Allows everything that is asked until the turn is over; the titles of what was asked. */
  async allowAll(turn: Locator, see: (title: string) => Promise<void> = async () => {}): Promise<readonly string[]> {
    const { pick } = this.window;
    const titles: string[] = [];
    const over = turn.and(this.chat.frame.locator('.settled'));
    for (;;) {
      // An answered pick stays on the screen until its diff has closed: only a card tells that something is asked.
      const card = this.chat.frame.locator('[data-ask]').first().waitFor({ timeout: 120_000 });
      const next = await Promise.race([over.waitFor({ timeout: 120_000 }).then(() => undefined), card.then(() => this.asked())]);
      if (next === undefined) return titles;
      titles.push(next);
      assert.ok(titles.length < 20, `asked without end: ${titles.join(' | ')}`);
      await see(next);
      const id = await this.#openAsk();
      await pick.answer('A');
      if (id) await this.chat.frame.locator(`[data-ask="${id}"]`).waitFor({ state: 'detached' });
    }
  }

  async settled(turn: Locator): Promise<void> {
    await turn.and(this.chat.frame.locator('.settled')).waitFor({ timeout: 120_000 });
  }

  #openAsk(): Promise<string | null> {
    return this.chat.frame.locator('[data-ask]').first().getAttribute('data-ask');
  }
}
