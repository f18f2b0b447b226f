import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { acpCases } from './cases.ts';
import { problemOfDraft, problemOfUnstable } from './oracle.ts';

/** The updates of a file of cases as they stand there; `of` picks them by their kind. */
function updatesIn(file: string, of: RegExp): readonly { readonly sessionId: string; readonly update: unknown }[] {
  const lines = readFileSync(path.join(acpCases.folder, file), 'utf8').matchAll(/^> update (\S+ )?(\{.*\})$/gm);
  return [...lines].flatMap(([, session = 'S ', json = '']) =>
    of.test(json) ? [{ sessionId: session.trim(), update: JSON.parse(json) as unknown }] : [],
  );
}

test('what is not stable yet is said in the cases as the official schema has it', () => {
  const updates = updatesIn('updates.txt', /"sessionUpdate":"(?:plan_|subagent_|session_message)/);
  assert.ok(updates.length >= 15, String(updates.length));
  for (const one of updates) assert.equal(problemOfUnstable('SessionNotification', one), undefined, JSON.stringify(one));
});

test('patches of version 2 and its record are said in the cases as the draft has them', () => {
  const updates = updatesIn('version2.txt', /"git_patch"|"(?:user|agent)_message"|"messageId":"[ua]\d"/);
  assert.ok(updates.length >= 7, String(updates.length));
  for (const one of updates) assert.equal(problemOfDraft('UpdateSessionNotification', one), undefined, JSON.stringify(one));
});
