import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerCut, asSentence, filled, inSentences, joinWords, limitReached } from '../../src/base/l10n.ts';

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

test('a number chooses among the words of a text: the first for 1, the last beyond them', () => {
  const chosen = (text: string) => [0, 1, 2, 3, 4].map((count) => filled(text, [count]));
  assert.deepEqual(chosen('{0} {0|file|files}'), ['0 files', '1 file', '2 files', '3 files', '4 files']);
  assert.deepEqual(chosen('cut ({0|length|filter|size})'), ['cut (size)', 'cut (length)', 'cut (filter)', 'cut (size)', 'cut (size)']);
  assert.equal(answerCut('filter'), 'The answer was cut (content filter).');
  assert.equal(limitReached('budget'), 'The agent has reached a limit (budget).');
});
