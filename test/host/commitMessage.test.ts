import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { editorCommands } from '../../src/editor/editorActions.ts';
import { type GitRepository, repositories } from '../../src/editor/git.ts';
import type { Content } from '../../src/session/model.ts';
import { FakeDesk } from './desk.ts';

describe('a commit message from the agent', () => {
  let folder: string;
  let repository: GitRepository;
  let shown = 0;
  const focused = () => {
    shown += 1;
  };
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' });

  // The repositories are beside the folder of the window.
  const anywhere = (value: string | undefined) =>
    vscode.workspace.getConfiguration('git').update('openRepositoryInParentFolders', value, vscode.ConfigurationTarget.Global);
  before(() => anywhere('always'));
  after(() => anywhere(undefined));

  // A box of its own for each: the editor tells of a text that was set a moment later, and an older one would come back.
  beforeEach(async () => {
    shown = 0;
    folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'parley-commit-')));
    git('init', '--quiet');
    await repositories();
    type Git = { getAPI(version: 1): { openRepository(uri: vscode.Uri): Promise<GitRepository | null> } };
    const api = vscode.extensions.getExtension<Git>('vscode.git')?.exports.getAPI(1);
    assert.ok(api, 'the editor has git');
    // While the editor's git looks for the repositories of its own folders, it opens no other.
    let opened: GitRepository | null = null;
    for (; !opened; await new Promise((resolve) => setTimeout(resolve, 50))) opened = await api.openRepository(vscode.Uri.file(folder));
    repository = opened;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

  function stage(): void {
    writeFileSync(path.join(folder, 'a.txt'), 'staged\n');
    git('add', 'a.txt');
    writeFileSync(path.join(folder, 'a.txt'), 'staged\nnot staged\n');
  }

  /** Asks for a message; `answer` gets what was sent, and ends the turn as it says. */
  async function asked(
    answer: (prompt: readonly Content[]) => { readonly text: string; readonly status?: 'done' | 'failed' | 'cancelled' },
  ): Promise<number> {
    const desk = new FakeDesk(folder, 'a');
    const session = desk.get('a') ?? assert.fail();
    let prompts = 0;
    const send: typeof session.send = (intent) => {
      if (intent.type !== 'prompt') return;
      prompts += 1;
      const { turnId } = intent;
      const { text, status = 'done' } = answer(intent.content);
      queueMicrotask(() => {
        desk.say('a', { type: 'turn.ended', turnId: 't', at: 2, status: 'done' });
        desk.say('a', { type: 'turn.started', turnId, at: 3, prompt: intent.content });
        desk.say('a', { type: 'part.added', turnId, part: { kind: 'text', id: 'before', text: 'I look at the changes first.' } });
        desk.say('a', { type: 'part.added', turnId, part: { kind: 'text', id: 'x', text } });
        desk.say('a', { type: 'turn.ended', turnId, at: 4, status });
      });
    };
    Object.assign(session, { send });
    const commands = editorCommands({
      sessions: desk,
      starter: { start: async () => undefined },
      chat: { focus: async () => focused(), insert: async () => {} },
      inputs: { input: async () => undefined },
      isGuide: () => false,
      newId: () => 'turn',
    });
    await commands['parley.commitMessage'](repository);
    return prompts;
  }

  it('asks nothing where nothing has changed', async () => {
    assert.equal(await asked(() => ({ text: 'never' })), 0);
    assert.equal(repository.inputBox.value, '');
  });

  it('writes the last text of the answer to what is staged into the box, and leaves the user where they are', async () => {
    stage();
    const prompts = await asked(([text, file]) => {
      assert.ok(text?.type === 'text' && /commit message/.test(text.text));
      assert.ok(file?.type === 'file' && /^\+staged$/m.test(file.text ?? '') && !/not staged/.test(file.text ?? ''));
      return { text: '```\nAdd a\n\nBecause.\n```' };
    });
    assert.deepEqual([prompts, repository.inputBox.value, shown], [1, 'Add a\n\nBecause.', 0]);
  });

  it('keeps what the user writes meanwhile', async () => {
    stage();
    await asked(() => {
      repository.inputBox.value = 'by hand';
      return { text: 'by the agent' };
    });
    assert.equal(repository.inputBox.value, 'by hand');
  });

  for (const status of ['failed', 'cancelled'] as const)
    it(`writes nothing and shows the chat when the turn is ${status}`, async () => {
      stage();
      await asked(() => ({ text: 'half a mess', status }));
      assert.deepEqual([repository.inputBox.value, shown], ['', 1]);
    });

  it('takes all changes where none are staged', async () => {
    stage();
    git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'first');
    await asked(([, file]) => {
      assert.ok(file?.type === 'file' && /^\+not staged$/m.test(file.text ?? ''));
      return { text: 'Add more' };
    });
    assert.equal(repository.inputBox.value, 'Add more');
  });
});
