import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from '../../e2e/suite.ts';
import { serverOf } from '../ai-sdk/peers.ts';
import { stepsOf } from './person.ts';

const NAME = 'My backend';
const inWindow = suite({
  name: 'agents-ai-sdk',
  prepare: async (folder) => {
    const ends: (() => Promise<void>)[] = [];
    const address = await serverOf({ after: (end) => void ends.push(end) }, 6);
    writeFileSync(path.join(folder, 'a.ts'), 'export const a = 1;\n');
    return {
      machineSettings: { 'parley.agents': [{ name: NAME, protocol: 'ai-sdk', url: `${address}/api/chat` }] },
      agents: 'server.mjs',
      end: async () => {
        for (const end of ends) await end();
      },
    };
  },
});
const step = stepsOf('ai-sdk', inWindow);

step('it is picked from the settings and answers', async (person) => {
  await person.pickAgent(NAME);
  const turn = await person.say('reason with me');
  await person.settled(turn);
  await turn.getByText('You said reason with me').waitFor();
  await person.picture('answer', ['dark', 'light']);
});

step('the editor opens the file the model asks for, and the model goes on with what came of it', async (person) => {
  const turn = await person.say('look at it');
  await person.allowAll(turn);
  await person.window.tab('a.ts').first().waitFor();
  await turn.getByText('Results:').waitFor();
  await person.picture('opened', ['dark', 'light']);
});

step("a tool of the server waits for the user's yes", async (person) => {
  const turn = await person.say('delete the file');
  const title = await person.asked();
  assert.ok(title.startsWith(`${NAME} · `), title);
  await person.picture('approval', ['dark', 'light', 'contrast']);
  await person.window.pick.answer('A');
  await person.settled(turn);
  await turn.getByText('deleted x.txt').first().waitFor();
  await person.picture('deleted');
});

step('a no is told to the model', async (person) => {
  const turn = await person.say('delete it again');
  await person.asked();
  await person.window.pick.answer('R');
  await person.settled(turn);
  await turn.getByText('Rejected').first().waitFor();
  await person.picture('rejected');
});

step('stop ends an answer that streams, and what was said stays', async (person) => {
  const { chat } = person;
  const turn = await person.say('slow down');
  await turn.getByText('You said slow').waitFor();
  await chat.stop.click();
  await person.settled(turn);
  await turn.getByText('Stopped').waitFor();
  await person.picture('stopped');
});

step('another answer is asked for, in place of the last one', async (person) => {
  const { chat } = person;
  const first = await person.say('hello');
  await person.settled(first);
  const count = await chat.turns.count();
  await chat.lastTurn.hover();
  await chat.lastTurn.getByRole('button', { name: 'Try again' }).click();
  await chat.turns
    .nth(count - 1)
    .getByText('You said hello')
    .waitFor();
  await person.settled(chat.lastTurn);
  assert.equal(await chat.turns.count(), count);
  await person.picture('again');
});

step('after a reload of the window the conversation is there and goes on', async (person) => {
  const { window, chat } = person;
  await person.reload();
  await chat.turns.first().getByText('You said reason with me').waitFor();
  const turn = await person.say('three');
  await person.allowAll(turn);
  await turn.getByText('Results:').waitFor();
  await window.page.setViewportSize({ width: 640, height: 800 });
  await person.picture('reloaded', ['dark', 'light']);
});
