// A model that reads the last words of the user and does what they say; the results of its calls it repeats in words.
let count = 0;
const nextId = () => `call-${++count}`;

/** What a scenario calls in its first step: [tool, input] pairs. */
export const scenarios = {
  look: [['open_in_ide', { path: 'a.ts' }]],
  three: [
    ['open_in_ide', { path: 'a.ts' }],
    ['open_in_ide', { path: 'b.ts' }],
    ['open_in_ide', { path: 'c.ts' }],
  ],
  weather: [['weather', { city: 'Bern' }]],
  mixed: [
    ['open_in_ide', { path: 'a.ts' }],
    ['weather', { city: 'Bern' }],
  ],
  delete: [['delete_file', { path: 'x.txt' }]],
  deleteTwo: [
    ['delete_file', { path: 'x.txt' }],
    ['delete_file', { path: 'y.txt' }],
  ],
  deleteAndLook: [
    ['open_in_ide', { path: 'a.ts' }],
    ['delete_file', { path: 'x.txt' }],
  ],
  bad: [['weather', '{"city": 7']],
  throwing: [['explode', {}]],
  progress: [['progress', {}]],
};

export function answerTo(prompt, version) {
  const lastUser = prompt.findLastIndex((message) => message.role === 'user');
  const words = prompt[lastUser]?.content.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? '';
  const results = prompt.slice(lastUser + 1).flatMap((message) => (message.role === 'tool' ? message.content : []));
  const calls = scenarios[words.split(' ')[0]];
  if (words.startsWith('boom')) return { error: new Error('the model is on fire') };
  if (calls && results.length === 0) return { parts: callParts(calls), finish: 'tool-calls', version };
  const told = results.map((part) => JSON.stringify(part.output ?? part.type)).join(' and ');
  return {
    parts: textParts(told === '' ? `You said ${words}.` : `Results: ${told}.`, words.startsWith('reason')),
    finish: 'stop',
    slow: words.startsWith('slow'),
    version,
  };
}

function textParts(text, reasons) {
  const pieces = text.match(/[\s\S]{1,7}/g) ?? [];
  return [
    ...(reasons
      ? [
          { type: 'reasoning-start', id: 'r', providerMetadata: { mock: { signature: 'sig-1' } } },
          { type: 'reasoning-delta', id: 'r', delta: 'Let me ' },
          { type: 'reasoning-delta', id: 'r', delta: 'think.' },
          { type: 'reasoning-end', id: 'r', providerMetadata: { mock: { signature: 'sig-2' } } },
          { type: 'source', sourceType: 'url', id: 's', url: 'https://example.test/', title: 'Source' },
        ]
      : []),
    { type: 'text-start', id: 't' },
    ...pieces.map((delta) => ({ type: 'text-delta', id: 't', delta })),
    { type: 'text-end', id: 't' },
  ];
}

function callParts(calls) {
  return calls.flatMap(([toolName, input]) => {
    const toolCallId = nextId();
    const text = typeof input === 'string' ? input : JSON.stringify(input);
    return [
      { type: 'tool-input-start', id: toolCallId, toolName },
      ...(text.match(/[\s\S]{1,5}/g) ?? []).map((delta) => ({ type: 'tool-input-delta', id: toolCallId, delta })),
      { type: 'tool-input-end', id: toolCallId },
      { type: 'tool-call', toolCallId, toolName, input: text },
    ];
  });
}

/** The options of a mock model of that version. */
export function mockOptions(version, simulateReadableStream) {
  return {
    doStream: async ({ prompt }) => {
      const answer = answerTo(prompt, version);
      if (answer.error) throw answer.error;
      const usage =
        version === 5
          ? { inputTokens: 3, outputTokens: 4, totalTokens: 7 }
          : { inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 4, text: 4, reasoning: 0 } };
      const finishReason = version === 5 ? answer.finish : { unified: answer.finish, raw: answer.finish };
      const chunks = [{ type: 'stream-start', warnings: [] }, ...answer.parts, { type: 'finish', finishReason, usage }];
      return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: answer.slow ? 1500 : null }) };
    },
  };
}
