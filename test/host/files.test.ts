import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as vscode from 'vscode';
import { silentLog } from '../../src/base/log.ts';
import type { LinkAnswer } from '../../src/base/outcomes.ts';
import { editorFiles } from '../../src/editor/files.ts';
import { FilePort } from '../../src/protocols/acp/files.ts';
import { acpMachine } from '../../src/protocols/acp/machine.ts';
import type { AcpFileRequest } from '../../src/protocols/acp/requests.ts';
import { LIMITS, newAcp } from '../../src/protocols/acp/state.ts';
import { Driver } from '../../src/protocols/driver.ts';
import type { Ask } from '../../src/session/model.ts';
import type { LinkEvents } from '../../src/transport/link.ts';
import { settled } from './settled.ts';

describe('files as the user has them', () => {
  let folder: string;
  let file: string;
  const open = async () => {
    const document = await vscode.workspace.openTextDocument(file);
    await vscode.window.showTextDocument(document);
    return document;
  };

  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'parley-files-'));
    file = path.join(folder, 'x.txt');
  });
  afterEach(async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    rmSync(folder, { recursive: true, force: true });
  });

  it('unsaved text is read', async () => {
    writeFileSync(file, 'saved\n');
    const document = await open();
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(0, 0), 'not yet ');
    await vscode.workspace.applyEdit(edit);
    assert.equal(await editorFiles.read(file), 'not yet saved\n');
    await document.save();
  });

  it('an agent writes a file with different line ends: the lines that it leaves keep theirs, in front or closed', async () => {
    writeFileSync(file, 'one\r\ntwo\nthree\r\n');
    const document = await open();
    await editorFiles.write(file, 'one\ntwo\nthree\nfour\n');
    assert.equal(readFileSync(file, 'utf8'), 'one\r\ntwo\nthree\r\nfour\r\n');
    await settled(() => document.lineCount === 5 && !document.isDirty);
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    await editorFiles.write(file, 'one\ntwo\nfour\n');
    assert.equal(readFileSync(file, 'utf8'), 'one\r\ntwo\nfour\r\n');
  });

  it('a missing file says ENOENT', async () => {
    await assert.rejects(editorFiles.read(file), { code: 'ENOENT' });
  });

  it('a new file is made, with its folders', async () => {
    const deep = path.join(folder, 'a', 'b', 'c.txt');
    await editorFiles.write(deep, 'new\n');
    assert.equal(readFileSync(deep, 'utf8'), 'new\n');
  });

  it('a new file keeps the line ends it was sent with', async () => {
    await editorFiles.write(file, 'one\r\ntwo\r\n');
    assert.equal(readFileSync(file, 'utf8'), 'one\r\ntwo\r\n');
  });

  it('an open file is changed in the editor, is on disk when it is answered, and can be undone', async () => {
    writeFileSync(file, 'one\ntwo\n');
    const document = await open();
    await editorFiles.write(file, 'one\n2\n');
    assert.equal(document.getText(), 'one\n2\n');
    assert.equal(document.isDirty, false);
    assert.equal(readFileSync(file, 'utf8'), 'one\n2\n');
    await vscode.commands.executeCommand('undo');
    assert.equal(document.getText(), 'one\ntwo\n');
    await document.save();
  });

  for (const shown of [true, false]) {
    it(`line ends and byte order mark stay as they are, ${shown ? 'open' : 'not open'}`, async () => {
      writeFileSync(file, '\uFEFFone\r\ntwo\r\n');
      if (shown) await open();
      await editorFiles.write(file, 'one\nzwei\nthree\n');
      assert.equal(readFileSync(file, 'utf8'), '\uFEFFone\r\nzwei\r\nthree\r\n');
      assert.equal((await editorFiles.read(file)).charCodeAt(0), 'o'.charCodeAt(0), 'the mark is not part of the text');
    });
  }

  /** What an agent asks of files through its protocol, into this editor. */
  const asked = (mayReplace: boolean) => {
    const opened: Ask[] = [];
    const answers = new Map<string, (answer: LinkAnswer) => void>();
    const files = new FilePort(editorFiles);
    let link: LinkEvents | undefined;
    const can = { links: false, logins: false };
    const client = { name: 'test', version: '0' };
    const setup = { cwd: folder, folders: [], client, newest: 1, resume: null, startedAt: null, can, tools: [], limits: LIMITS } as const;
    const driver = new Driver(acpMachine, newAcp('s', setup), {
      now: Date.now,
      log: silentLog,
      emit: (event) => {
        if (event.type !== 'ask.opened') return;
        opened.push(event.ask);
        const answer = { kind: 'option', optionId: mayReplace ? 'allow' : 'reject' } as const;
        queueMicrotask(() => driver.feed({ on: 'intent', intent: { type: 'answer', askId: event.ask.id, answer } }));
      },
      links: {
        agent: (_params, events) => {
          link = events;
          return {
            request: async (method) => (method === 'initialize' ? { protocolVersion: 1 } : { sessionId: 'one' }),
            notify: () => {},
            answer: (id, answer) => answers.get(id)?.(answer),
            close: () => {},
          };
        },
      },
      ports: { file: (args: AcpFileRequest) => files.run(args), terminal: async () => null, server: async () => [] },
    });
    driver.feed({ on: 'start' });
    const ask = (method: string, params: object) =>
      new Promise<unknown>((resolve, reject) => {
        const id = `request ${answers.size}`;
        answers.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result)));
        link?.asked(id, method, { sessionId: 'one', ...params });
      });
    return {
      opened,
      read: async () => ((await ask('fs/read_text_file', { path: file })) as { readonly content: string }).content,
      write: (content: string, name = file) => ask('fs/write_text_file', { path: name, content }),
    };
  };

  it("an agent reads unsaved text, and its write leaves the user's other unsaved text, the byte order mark and the line ends", async () => {
    writeFileSync(file, '\uFEFFone\r\ntwo\r\nthree\r\nfour\r\nfive\r\n');
    const document = await open();
    const type = async (line: number, text: string) => {
      const edit = new vscode.WorkspaceEdit();
      edit.replace(document.uri, document.lineAt(line).range, text);
      await vscode.workspace.applyEdit(edit);
    };
    const agent = asked(false);
    await type(4, 'typed before it read');
    assert.equal(await agent.read(), 'one\r\ntwo\r\nthree\r\nfour\r\ntyped before it read\r\n');
    await type(4, 'typed after it read');
    await agent.write('ONE\ntwo\nthree\nfour\ntyped before it read\n');
    const bytes = '\uFEFFONE\r\ntwo\r\nthree\r\nfour\r\ntyped after it read\r\n';
    assert.equal(readFileSync(file, 'utf8'), bytes, 'on disk when it is answered');
    assert.equal(document.isDirty, false);
    assert.deepEqual(agent.opened, []);
    await vscode.commands.executeCommand('undo');
    assert.match(document.getText(), /^one\r\n[\s\S]*typed after it read/, "the agent's change alone is undone");
    await document.save();
  });

  it('what an agent has written itself is what is there, although the open text has not followed yet: its mirrored write asks nothing', async () => {
    writeFileSync(file, 'one\ntwo\n');
    await open();
    const agent = asked(false);
    writeFileSync(file, 'one\nagent\n');
    assert.equal(await editorFiles.read(file), 'one\nagent\n');
    writeFileSync(file, 'one\nagent again\n');
    await agent.write('one\nagent again\n');
    assert.deepEqual(agent.opened, []);
    assert.equal(readFileSync(file, 'utf8'), 'one\nagent again\n');
  });

  it('what is agreed about an agent’s own write is written although the open text, in front of the user, has not followed that write', async () => {
    writeFileSync(file, 'one\ntwo\nthree\n');
    const document = await open();
    writeFileSync(file, 'one\nagent\nthree\n');
    await editorFiles.write(file, 'one\nagreed\nthree\n', 'one\nagent\nthree\n');
    assert.deepEqual([readFileSync(file, 'utf8'), document.isDirty], ['one\nagreed\nthree\n', false]);
  });

  it('a program that adds to the file while it is saved loses nothing, and leaves nothing unsaved', async () => {
    writeFileSync(file, 'one\ntwo\nthree\n');
    const document = await open();
    const once = vscode.workspace.onDidChangeTextDocument((change) => {
      if (change.document !== document || !document.isDirty) return;
      once.dispose();
      appendFileSync(file, 'by another program\n');
    });
    await editorFiles.write(file, '1\ntwo\nthree\n', 'one\ntwo\nthree\n');
    assert.deepEqual([readFileSync(file, 'utf8'), document.isDirty], ['1\ntwo\nthree\nby another program\n', false]);
  });

  it('a program writes a file that is not open between the look at it and the write: both stay, and of one line the write is refused', async () => {
    const texts = ['one\ntwo\nthree\n', '1\ntwo\nthree\n'] as const;
    writeFileSync(file, `${texts[0]}by another program\n`);
    await editorFiles.write(file, texts[1], texts[0]);
    assert.equal(readFileSync(file, 'utf8'), `${texts[1]}by another program\n`);
    writeFileSync(file, 'another one\ntwo\nthree\n');
    await assert.rejects(editorFiles.write(file, texts[1], texts[0]), /was changed meanwhile/);
    assert.equal(readFileSync(file, 'utf8'), 'another one\ntwo\nthree\n');
  });

  it('a program that adds to the file with each try to save it loses nothing either', async () => {
    writeFileSync(file, 'one\ntwo\nthree\n');
    const document = await open();
    let added = 0;
    const adding = vscode.workspace.onDidChangeTextDocument((change) => {
      if (change.document !== document || !document.isDirty) return;
      added += 1;
      appendFileSync(file, `${added}\n`);
    });
    await editorFiles.write(file, '1\ntwo\nthree\n', 'one\ntwo\nthree\n').finally(() => adding.dispose());
    await settled(() => !document.isDirty);
    const log = Array.from({ length: added }, (_, at) => `${at + 1}\n`).join('');
    assert.equal(readFileSync(file, 'utf8'), `1\ntwo\nthree\n${log}`);
  });

  it('an agent that changes the same lines is held until the user decides', async () => {
    writeFileSync(file, 'one\ntwo\n');
    const document = await open();
    const agent = asked(false);
    await agent.read();
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(0, 3), ' by hand');
    await vscode.workspace.applyEdit(edit);
    await assert.rejects(agent.write('1\ntwo\n'), /changed .* meanwhile/);
    assert.equal(agent.opened.length, 1);
    assert.equal(document.getText(), 'one by hand\ntwo\n');
    assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\n');
    await document.save();
  });

  it('writes that an agent sends at once are made one after the other: the last is what stays', async () => {
    writeFileSync(file, 'old\n'.repeat(2000));
    const agent = asked(false);
    await agent.read();
    const texts = Array.from({ length: 30 }, (_, at) => `v${at}\n`.repeat(at % 2 ? 1 : 3000));
    await Promise.all(texts.map((text) => agent.write(text)));
    assert.equal(readFileSync(file, 'utf8'), texts.at(-1));
    assert.deepEqual(agent.opened, []);
  });

  it('an agent writes at the end of a text while the user types at its beginning: both stay', async () => {
    writeFileSync(file, 'top\n'.repeat(20));
    const document = await open();
    let typing = true;
    let typed = 0;
    const person = (async () => {
      while (typing) {
        await vscode.commands.executeCommand('type', { text: 'x' });
        typed += 1;
        await pause(60);
      }
    })();
    const agent = asked(false);
    try {
      for (let at = 0; at < 10; at += 1) await agent.write(`${await agent.read()}agent ${at}\n`);
    } finally {
      typing = false;
      await person;
    }
    const lines = Array.from({ length: 10 }, (_, at) => `agent ${at}\n`).join('');
    assert.ok(document.getText().endsWith(lines));
    assert.ok(readFileSync(file, 'utf8').endsWith(lines), 'on disk when it is answered');
    assert.ok(document.getText().startsWith('x'.repeat(typed)));
    assert.deepEqual(agent.opened, []);
    await document.save();
  });

  for (const shown of [true, false]) {
    it(`what is done to a text as it is saved is not done to what an agent writes, ${shown ? 'in front of the user' : 'behind'}`, async () => {
      // Files of the workspace are watched; elsewhere only what is in front of the user keeps its text.
      const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
      assert.ok(root);
      if (!shown) file = path.join(root, 'saved-behind.txt');
      writeFileSync(file, '\uFEFFone\r\ntwo\r\n');
      const settings = vscode.workspace.getConfiguration('files');
      await settings.update('trimTrailingWhitespace', true, vscode.ConfigurationTarget.Global);
      // What the editor saves by itself is trimmed, too; what is in front of the user would be saved so before we can.
      await settings.update('autoSave', shown ? 'off' : 'afterDelay', vscode.ConfigurationTarget.Global);
      await settings.update('autoSaveDelay', 1, vscode.ConfigurationTarget.Global);
      try {
        const document = shown ? await open() : await vscode.workspace.openTextDocument(file);
        for (const last of ['a', 'b', 'c']) {
          await editorFiles.write(file, `one  \ntwo\t\n${last} \n`);
          assert.equal(readFileSync(file, 'utf8'), `\uFEFFone  \r\ntwo\t\r\n${last} \r\n`);
          assert.deepEqual([document.getText(), document.isDirty], [`one  \r\ntwo\t\r\n${last} \r\n`, false]);
        }
      } finally {
        for (const name of ['trimTrailingWhitespace', 'autoSave', 'autoSaveDelay']) {
          await settings.update(name, undefined, vscode.ConfigurationTarget.Global);
        }
        if (!shown) rmSync(file);
      }
    });
  }

  it('an agent and the user write in turn into a text that is changed as it is saved: nothing is refused, nothing is lost', async () => {
    writeFileSync(file, 'top\nend\n');
    const settings = vscode.workspace.getConfiguration('files');
    await settings.update('trimTrailingWhitespace', true, vscode.ConfigurationTarget.Global);
    try {
      const document = await open();
      const agent = asked(false);
      for (let at = 0; at < 6; at += 1) {
        const writing = agent.write(`${await agent.read()}agent ${at} \n`);
        await vscode.commands.executeCommand('type', { text: 'x' });
        await writing;
      }
      assert.ok(document.getText().startsWith('xxxxxx'));
      for (let at = 0; at < 6; at += 1) assert.ok(document.getText().includes(`agent ${at}`));
      assert.ok(readFileSync(file, 'utf8').includes('agent 5'));
      assert.ok((await document.save()) || !document.isDirty);
    } finally {
      await settings.update('trimTrailingWhitespace', undefined, vscode.ConfigurationTarget.Global);
    }
  });

  it('a text in another encoding is neither read as UTF-8 nor written over', async () => {
    const bytes = Buffer.from('caf\u00e9\n', 'latin1');
    writeFileSync(file, bytes);
    const agent = asked(true);
    await assert.rejects(agent.read(), /not a text in UTF-8/);
    await assert.rejects(agent.write('cafe\n'), /not a text in UTF-8/);
    await assert.rejects(editorFiles.write(file, 'cafe\n'), /not a text in UTF-8/);
    assert.deepEqual(readFileSync(file), bytes);
  });

  it('an agent that sends the byte order mark with each write is not asked about its own', async () => {
    writeFileSync(file, '\uFEFFone\ntwo\n');
    const agent = asked(false);
    await agent.write('\uFEFFone\nzwei\n');
    await agent.write('\uFEFFone\ndrei\n');
    assert.deepEqual(agent.opened, []);
    assert.equal(readFileSync(file, 'utf8'), '\uFEFFone\ndrei\n');
  });

  it('what cannot be saved is refused at once, with the reason, and does not stand in the editor', async () => {
    writeFileSync(file, 'one\ntwo\nthree\n');
    const document = await open();
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(0, 0), 'mine ');
    await vscode.workspace.applyEdit(edit);
    writeFileSync(file, 'one\ntwo\nthree\nby another program\n');
    const agent = asked(false);
    await assert.rejects(agent.write(`${await agent.read()}agent\n`), /has changed on disk/);
    assert.equal(document.getText(), 'mine one\ntwo\nthree\n');
    assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\nthree\nby another program\n');
  });

  it('a file is one file by whichever of its names an agent writes it', async () => {
    writeFileSync(file, 'old\n');
    const agent = asked(false);
    const alias = path.join(folder, 'alias.txt');
    symlinkSync(file, alias);
    await agent.read();
    await Promise.all([agent.write('a\n'), agent.write('b\n', alias), agent.write('c\n')]);
    assert.deepEqual(agent.opened, []);
    assert.equal(readFileSync(file, 'utf8'), 'c\n');
  });

  it('a file that is open under the name of a link is one with the file itself', async () => {
    const real = path.join(folder, 'real.txt');
    writeFileSync(real, 'one\ntwo\nthree\n');
    symlinkSync(real, file);
    const document = await open();
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(0, 0), 'mine ');
    await vscode.workspace.applyEdit(edit);
    assert.equal(await editorFiles.read(real), 'mine one\ntwo\nthree\n');
    await editorFiles.write(real, 'mine one\ntwo\n3\n');
    assert.deepEqual([document.getText(), document.isDirty], ['mine one\ntwo\n3\n', false]);
    assert.equal(readFileSync(real, 'utf8'), 'mine one\ntwo\n3\n');
  });
});
