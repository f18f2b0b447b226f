import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { editorCommands } from '../../src/editor/editorActions.ts';
import { type GitRepository, repositories } from '../../src/editor/git.ts';
import type { AsideAnswer } from '../../src/live/asideRequest.ts';
import type { Content } from '../../src/session/model.ts';
import { FakeSessionHost } from './fakeHost.ts';

describe('a commit message from the agent', () => {
  let folder: string;
  let repository: GitRepository;
  let commands: ReturnType<typeof editorCommands> | undefined;
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' });

  // The repositories are beside the folder of the window.
  const anywhere = (value: string | undefined) =>
    vscode.workspace.getConfiguration('git').update('openRepositoryInParentFolders', value, vscode.ConfigurationTarget.Global);
  before(() => anywhere('always'));
  after(() => anywhere(undefined));

  // A box of its own for each: the editor tells of a text that was set a moment later, and an older one would come back.
  beforeEach(async () => {
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

  /** Asks for a message; `answer` gets what was sent, and says what comes back. */
  async function asked(
    answer: (prompt: readonly Content[], stop: AbortSignal) => AsideAnswer | undefined | Promise<undefined>,
  ): Promise<number> {
    const fakeHost = new FakeSessionHost(folder, 'a');
    const session = fakeHost.get('a') ?? assert.fail();
    Object.assign(session, { send: () => assert.fail('the conversation of the user is left alone') });
    let prompts = 0;
    commands = editorCommands({
      sessions: fakeHost,
      starter: { start: async () => assert.fail('no session is started') },
      chat: { focus: async () => assert.fail('the user stays in Source Control'), insert: async () => {}, keepPicture: async () => false },
      isGuide: () => false,
      profileInFront: () => ({ id: 'mine', name: 'Mine', protocol: 'none', args: [], env: {}, headers: {} }),
      askAside: async ({ id }, content, stop) => {
        assert.equal(id, 'mine');
        prompts += 1;
        return answer(content, stop);
      },
      newId: () => 'turn',
    });
    await commands['parley.commitMessage'](repository);
    return prompts;
  }

  it('asks nothing where nothing has changed', async () => {
    assert.equal(await asked(() => ({ ok: true, text: 'never' })), 0);
    assert.equal(repository.inputBox.value, '');
  });

  it('writes the answer to what is staged into the box, and leaves the conversations of the user and their place alone', async () => {
    stage();
    const prompts = await asked(([text, file]) => {
      assert.ok(text?.type === 'text' && /commit message/.test(text.text));
      assert.ok(file?.type === 'file' && /^\+staged$/m.test(file.text ?? '') && !/not staged/.test(file.text ?? ''));
      return { ok: true, text: '```\nAdd a\n\nBecause.\n```' };
    });
    assert.deepEqual([prompts, repository.inputBox.value], [1, 'Add a\n\nBecause.']);
  });

  it('keeps what the user writes meanwhile', async () => {
    stage();
    await asked(() => {
      repository.inputBox.value = 'by hand';
      return { ok: true, text: 'by the agent' };
    });
    assert.equal(repository.inputBox.value, 'by hand');
  });

  it('writes nothing when the agent fails, and nothing when it is stopped', async () => {
    stage();
    await asked(() => ({ ok: false, reason: 'Not signed in.', next: ['signIn'] }));
    assert.equal(repository.inputBox.value, '');
    await asked((_, stop) => {
      const stopped = new Promise<undefined>((resolve) => stop.addEventListener('abort', () => resolve(undefined)));
      commands?.['parley.stopCommitMessage']();
      return stopped;
    });
    assert.equal(repository.inputBox.value, '');
  });

  it('takes all changes where none are staged', async () => {
    stage();
    git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'first');
    await asked(([, file]) => {
      assert.ok(file?.type === 'file' && /^\+not staged$/m.test(file.text ?? ''));
      return { ok: true, text: 'Add more' };
    });
    assert.equal(repository.inputBox.value, 'Add more');
  });
});
