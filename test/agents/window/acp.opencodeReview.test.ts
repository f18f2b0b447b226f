import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { onPath } from './agents.ts';
import { reviewInWindow } from './reviewTurns.ts';

reviewInWindow('opencode', {
  label: 'OpenCode',
  prepare: (folder) => {
    // A large folder: the first prompt goes before all of it can be read.
    for (let at = 0; at < 5000; at += 1) {
      const below = path.join(folder, 'many', `d${at % 100}`);
      mkdirSync(below, { recursive: true });
      writeFileSync(path.join(below, `f${at}.txt`), `${'some text of that file\n'.repeat(20)}${at}\n`);
    }
    return onPath('opencode', folder, 'review.json');
  },
});
