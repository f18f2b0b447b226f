import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLog } from '../../src/base/log.ts';
import { fileEffects } from '../../src/editor/files.ts';
import type { Profile } from '../../src/live/profiles.ts';
import { ChangeSet } from '../../src/live/review/changeSet.ts';
import { ChangeSets } from '../../src/live/review/changeSets.ts';
import { windowOn } from '../live/scriptedWindow.ts';
import { settled } from './settled.ts';

/** On a busy computer the look may take as long as it likes: no timer that is set in `run` fires. */
function withoutTimers(run: () => void): void {
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (() => undefined) as unknown as typeof setTimeout;
  try {
    run();
  } finally {
    globalThis.setTimeout = setTimeout;
  }
}

describe('prompts in the editor', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'prompts-'));
  after(() => rmSync(folder, { recursive: true }));

  it('a prompt that the agent can take at once waits for the look at the files only, and one line of the journal names it', async () => {
    writeFileSync(path.join(folder, 'a.txt'), 'one\n');
    const profile: Profile = { id: 'fake', name: 'Fake', protocol: 'scripted', command: 'fake', args: [], env: {}, headers: {} };
    const { sessions, script } = windowOn(folder, () => profile);
    const contents = path.join(folder, 'review');
    const publish = (id: string, event: Parameters<NonNullable<ReturnType<typeof sessions.get>>['publish']>[0]) =>
      sessions.get(id)?.publish(event);
    const changeSets = new ChangeSets(sessions, contents, () => ChangeSet, fileEffects, publish, silentLog);
    sessions.holdPrompts((id, turnId) => changeSets.beforePrompt(id, turnId));
    const id = sessions.open(profile, folder);
    await settled(() => script.conversations.length === 1);
    script.last().ready();
    for (const words of ['First thing', 'Second thing']) {
      withoutTimers(() => sessions.get(id)?.send({ type: 'prompt', turnId: words, content: [{ type: 'text', text: words }] }));
      await settled(() => script.last().prompts().at(-1)?.turnId === words);
      script.last().endTurn();
    }
    changeSets.dispose();
    sessions.dispose();
    const lines = readFileSync(path.join(folder, `${id}.journal`), 'utf8').split('\n');
    for (const words of ['First thing', 'Second thing'])
      assert.deepEqual(
        lines.flatMap((line) => (line.includes(`"text":"${words}"`) ? (/"type":"([^"]+)"/.exec(line)?.[1] ?? []) : [])),
        ['turn.started'],
      );
  });
});
