import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainMarkdown } from '../../../src/editor/approvals/rowText.ts';

test('Markdown reads well without being drawn; code stands as it is', () => {
  const plan = '# Plan\n\n1. **first** run `npm **test**`\n* then [see](http://x)\n```ts\n# a **b**\n```\nsnake_case_name and 2 * 3 * 4';
  assert.equal(plainMarkdown(plan), 'Plan\n\n1. first run npm **test**\n- then see\n# a **b**\nsnake_case_name and 2 * 3 * 4');
});
