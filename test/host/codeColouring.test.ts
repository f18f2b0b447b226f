import assert from 'node:assert/strict';
import path from 'node:path';
import * as vscode from 'vscode';
import { CodeColouring } from '../../src/editor/codeColouring.ts';

describe('code in the colours of the theme', () => {
  const dist = path.join(vscode.extensions.getExtension('parley.parley')?.extensionPath ?? '', 'dist');
  const code = 'const count: number = 1;\n';

  it('is coloured all the same when extensions or settings change meanwhile', async () => {
    const colouring = new CodeColouring(dist);
    const inTheme = () => colouring.colour(code, 'ts', 'Default Dark Modern');
    try {
      const first = await inTheme();
      assert.ok(first && first.looks.length > 2, JSON.stringify(first));
      const all = [inTheme(), inTheme()];
      // The question is with the thread once the rules of the theme are read.
      await new Promise((resolve) => setImmediate(resolve));
      colouring.forget();
      assert.deepEqual(await Promise.all(all), [first, first]);
    } finally {
      colouring.dispose();
    }
  });

  it('is given up when the window closes', async () => {
    for (const isAsked of [false, true]) {
      const colouring = new CodeColouring(dist);
      await colouring.colour(code, 'ts', 'Default Dark Modern');
      const last = colouring.colour(code, 'ts', 'Default Dark Modern');
      // The rules of the theme are known, so the thread is asked within a few microtasks; its answer is no microtask.
      for (let i = 0; isAsked && i < 10; i++) await Promise.resolve();
      colouring.dispose();
      assert.equal(await last, null, isAsked ? 'the thread was asked' : 'the thread was not asked yet');
    }
  });
});
