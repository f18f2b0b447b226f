import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asSentence, filled, inSentences, joinWords } from '../../src/base/l10n.ts';

test('Chinese words stand side by side without a space, all others with one', () => {
  assert.equal(filled('向 {0} 提问', ['智能体']), '向智能体提问');
  assert.equal(filled('向 {0} 提问', ['Parley 智能体']), '向 Parley 智能体提问');
  assert.equal(filled('{0} of {1}, {2}', ['a', 2]), 'a of 2, {2}');
  assert.equal(filled('{0} {0}', ['已 ']), '已  已 ');
  assert.equal(joinWords('已查看', '问题'), '已查看问题');
  assert.equal(joinWords('已查看', 'src'), '已查看 src');
});

test('words of an agent are joined to ours with one full stop, in its script', () => {
  assert.equal(inSentences('The key is wrong.', 'Set another.'), 'The key is wrong. Set another.');
  assert.equal(inSentences('The key is wrong', 'Set another.'), 'The key is wrong. Set another.');
  assert.equal(inSentences('Why (a “key.”) \n', 'Set another.'), 'Why (a “key.”) Set another.');
  assert.equal(inSentences('密钥错误。', '{0} 未接受该密钥。'), '密钥错误。{0} 未接受该密钥。');
  assert.equal(inSentences('密钥错误', '未接受该密钥。'), '密钥错误。未接受该密钥。');
  assert.equal(inSentences('', 'Set another.'), 'Set another.');
  assert.equal(asSentence('no space left on device'), 'no space left on device.');
  assert.equal(asSentence('Really?'), 'Really?');
});
