import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { silentLog } from '../../src/base/log.ts';
import { Outbox } from '../../src/bridge/outbox.ts';
import { commandRows } from '../../src/editor/approvals/rowText.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import type { Profile } from '../../src/live/profiles.ts';
import { Sessions } from '../../src/live/sessions.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { answersIn } from '../../src/session/approvalAnswers.ts';
import type { Approval, Session } from '../../src/session/model.ts';
import type { ApprovalRule } from '../../src/session/policy.ts';
import { byPath } from '../../src/session/select.ts';
import { approvalHeading, changeAmounts } from '../../src/session/shownApproval.ts';
import type { StoreChange } from '../../src/session/store.ts';
import { longestStop } from './stops.ts';

/** The room of stops: a real process sends the worst it can, through the whole host, and everything else still gets its turn. */

const program = fileURLToPath(new URL('../fakes/hostileAcp.mjs', import.meta.url));
const profile: Profile = { id: 'p', name: 'P', protocol: 'acp', command: process.execPath, args: [program], env: {}, headers: {} };
const rules: readonly ApprovalRule[] = [
  ...['*a*a*a*a*b', '?*?*?*?*', 'git *'].map((pattern) => ({ kind: 'command', pattern, decision: 'allow' }) as const),
  ...['*b*b*b*b*c', 'git push*'].map((pattern) => ({ kind: 'command', pattern, decision: 'reject' }) as const),
];

/** Reads nothing in a turn of the loop, and counts how many files are read at once. */
class EmptyFiles {
  #reading = 0;
  most = 0;

  async read(): Promise<string> {
    this.#reading += 1;
    this.most = Math.max(this.most, this.#reading);
    await nextTurn();
    this.#reading -= 1;
    return '';
  }
}

function windowOn(folder: string, files = new EmptyFiles()) {
  return new Sessions({
    protocols: () => protocols,
    profile: () => profile,
    launch: async () => ({ kind: 'process', command: profile.command ?? '', args: profile.args ?? [], env: {}, cwd: folder }),
    ports: () => ({
      tools: [],
      files: { read: () => files.read(), write: async () => {} },
      terminals: { create: () => Promise.reject(new Error('none')) },
    }),
    rules: () => rules,
    client: { name: 'test', version: '0' },
    log: silentLog,
    trace: () => {},
    now: Date.now,
    newId: () => crypto.randomUUID(),
    journal: new Journal(folder, silentLog),
    windowKey: () => 'w',
  });
}

/** What the surfaces of the editor make of an approval at once. */
function show(ask: Approval, session: Session): void {
  approvalHeading(ask, session);
  answersIn(session, ask);
  const { detail } = ask;
  if (detail.type === 'command') commandRows(detail.command);
  if (detail.type === 'edit') changeAmounts(byPath(detail.diffs).map(({ diffs }) => diffs));
}

const names = JSON.parse(execFileSync(process.execPath, [program, 'names'], { encoding: 'utf8' })) as readonly string[];

/** Takes half a minute. */
const LONG = '100,000 questions';

for (const name of names.filter((one) => one !== LONG || process.env.PARLEY_ATTACK_STOPS !== undefined)) {
  test(`an agent that sends ${name} is heard to its end`, { timeout: name === LONG ? 600_000 : 120_000 }, async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'parley-stops-'));
    const read = new EmptyFiles();
    const sessions = windowOn(folder, read);
    try {
      const id = sessions.open(profile, folder);
      const session = sessions.get(id);
      assert.ok(session);
      const outbox = new Outbox({ post: (message) => void JSON.stringify(message) }, (flush) => void setTimeout(flush, 33));
      outbox.show(session);
      outbox.listen(true);
      let files = 0;
      const isOver = new Promise<void>((resolve) => {
        sessions.onChange((_, change: StoreChange) => {
          const { event, now } = change;
          outbox.take(id, event);
          if (event.type === 'ask.opened' && event.ask.kind === 'approval') {
            const { ask } = event;
            files = Math.max(files, ask.detail.type === 'edit' ? ask.detail.diffs.length : 0);
            show(ask, now);
            setImmediate(() => session.send({ type: 'answer', askId: ask.id, answer: { kind: 'option', optionId: 'n' } }));
          }
          if (event.type === 'turn.ended' || event.type === 'link.closed') resolve();
        });
      });
      session.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: name }] });
      await longestStop(name, () => isOver);
      assert.equal(session.store.now.turns[0]?.status, 'done');
      assert.ok(files <= 2000, 'a question without bounds');
      assert.ok(read.most <= 16, `${read.most} files read at once`);
      const { plan, terminals, options = [], turns } = session.store.now;
      assert.ok((plan?.entries.length ?? 0) <= 1001, 'a plan without bounds');
      assert.ok(terminals.length <= 5000, 'terminals without bounds');
      assert.ok(
        options.every((option) => option.kind === 'switch' || option.choices.length <= 500) && options.length <= 500,
        'options without bounds',
      );
      const calls = turns.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'call' ? [part.call] : [])));
      assert.ok(
        calls.every(({ output, locations }) => output.length <= 2000 && locations.length <= 2000),
        'a call without bounds',
      );
      const values = (input: unknown) => JSON.stringify(input ?? null).match(/[[{,]/g)?.length ?? 0;
      assert.ok(
        calls.every(({ input }) => values(input) <= 300_000),
        'an input without bounds',
      );
    } finally {
      sessions.dispose();
      await sessions.agentsEnded();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
