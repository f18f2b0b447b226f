import type { Approval, Offers, Part, Session, ToolCall, Turn } from '../../../src/session/model.ts';
import { newSession } from '../../../src/session/reduce.ts';

/** Canned sessions for tests and for looking at the view: every kind of part, every state. */

const offers: Offers = { images: true, steer: true, feedback: true };
const cwd = '/code/sample';

export function session(change: Partial<Session>): Session {
  return {
    ...newSession('s1', { protocol: 'kimi-wire', name: 'Parley Agent', version: '0.1.0' }, cwd),
    link: { state: 'ready', offers },
    ...change,
  };
}

export function turn(change: Partial<Turn>): Turn {
  return { id: 't1', startedAt: 0, prompt: [{ type: 'text', text: 'Hello' }], parts: [], status: 'done', ...change };
}

export function call(change: Partial<ToolCall> = {}): ToolCall {
  return {
    id: 'c1',
    name: 'ReadFile',
    title: 'Read src/a.ts',
    kind: 'read',
    status: 'done',
    inputText: '{"path":"src/a.ts"}',
    input: { path: 'src/a.ts' },
    output: [],
    locations: [],
    ...change,
  };
}

export function callPart(change: Partial<ToolCall> & { readonly parent?: string } = {}): Part {
  const { parent, ...rest } = change;
  const made = call(rest);
  return { kind: 'call', id: made.id, ...(parent === undefined ? {} : { parent }), call: made };
}

export function textPart(text: string, id = 'p1'): Part {
  return { kind: 'text', id, text };
}

export const MARKDOWN = `Here is what I found. The server starts in \`src/server.ts:12\` and reads its settings from [config](src/config.ts#L4).

## Steps

1. Parse the **arguments**
2. Open the port
   - retry on \`EADDRINUSE\`
   - give up after *three* tries
3. Serve

| Setting | Default | What it does |
| --- | ---: | --- |
| \`port\` | 8080 | where it listens |
| \`host\` | 127.0.0.1 | never anything else |

\`\`\`ts
import { createServer } from 'node:http';

/** Starts the server. */
export function start(port = 8080): void {
  const server = createServer((request, answer) => answer.end(\`Hello \${request.url}\`));
  server.listen(port, '127.0.0.1'); // a comment that is long enough to need scrolling in a narrow side bar, as they do
}
\`\`\`

> Careful: the old flag is gone.

- [x] read
- [ ] test

See <https://example.com/docs> or https://example.com/a?b=c. The settings are read in src/config.ts:4.

\`\`\`diff
 listen(port);
-stop();
+stop(0);
\`\`\`

The load is $\\lambda = \\frac{n}{t}$, so that

$$
\\sum_{i=1}^{n} x_i^2 \\le \\lambda \\sqrt{n}
$$

\`\`\`mermaid
flowchart TD
  A[Read settings] --> B{Port given?}
  B -- yes --> C[Listen]
  B -- no --> D[Use 8080]
\`\`\`
`;

const before = `export function start(port) {\n  listen(port);\n}\n\nexport function stop() {\n  close();\n}\n`;
const after = `export function start(port = 8080) {\n  check(port);\n  listen(port);\n}\n\nexport function stop() {\n  close();\n}\n`;
const picture = 'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAYAAAAf8/9hAAAAHUlEQVR42mNkYPhfz0ABYBw1YNSAUQNGDRg1YNgYAADXSQ/xS1W9wAAAAABJRU5ErkJggg==';

/** Words in each colour of a terminal, in front of it and dim. */
const COLOURS = Array.from({ length: 8 }, (_, at) =>
  [`3${at}`, `9${at}`, `2;3${at}`, `4${at}`, `7;10${at}`].map((code) => `\u001b[${code}mword\u001b[0m`).join(' '),
).join('\n');

const everything: Session = session({
  title: 'Make the port optional',
  mode: {
    current: 'ask',
    all: [
      { id: 'ask', name: 'Ask first', description: 'Asks before it changes anything' },
      { id: 'auto', name: 'Automatic' },
    ],
  },
  options: [
    {
      kind: 'choice',
      id: 'model',
      name: 'Model',
      about: 'model',
      current: 'large',
      choices: [
        { value: 'large', name: 'Large 4', group: 'House' },
        { value: 'small', name: 'Small 4', description: 'Quick and cheap', group: 'House' },
        { value: 'local', name: 'Local', group: 'Own' },
      ],
    },
    { kind: 'switch', id: 'web', name: 'Web search', on: true },
  ],
  usage: { used: 31_000, size: 128_000, cost: { amount: 0.42, currency: 'EUR' } },
  commands: [
    { name: 'help', description: 'What this agent can do', aliases: ['h'] },
    {
      name: 'memory',
      description: 'What the agent remembers',
      aliases: [],
      children: [
        { name: 'add', description: 'Remember something', aliases: [], hint: '<text>' },
        { name: 'show', description: 'Show all of it', aliases: [] },
      ],
    },
    { name: 'compact', description: 'Shorten the conversation', aliases: ['c'], hint: '[what to keep]' },
  ],
  plan: {
    entries: [
      { text: 'Read the server', status: 'completed' },
      { text: 'Give the port a default', status: 'in_progress', priority: 'high' },
      { text: 'Run the tests', status: 'pending' },
    ],
  },
  terminals: [
    {
      id: 'term1',
      command: 'npm test',
      tail: '\u001b[32m✓\u001b[0m starts\n\u001b[32m✓\u001b[0m stops\n10%\r50%\r100%\n2 passed\n',
      dropped: 0,
      exit: { code: 0, signal: null },
    },
    { id: 'term2', command: 'npm run watch', tail: `${COLOURS}\nwatching for changes…\n`, dropped: 0 },
  ],
  notices: [{ level: 'warn', text: 'The agent sent a message of an unknown type: telemetry.', next: ['showLog'] }],
  turns: [
    turn({
      id: 't1',
      startedAt: 1,
      endedAt: 2,
      prompt: [
        { type: 'text', text: 'Make the port optional in @src/server.ts and run the tests.\nKeep it short.' },
        { type: 'file', path: '/code/sample/src/server.ts', lines: [3, 9] },
        { type: 'image', mime: 'image/png', data: picture },
      ],
      parts: [
        { kind: 'thought', id: 'th1', text: 'The user wants a **default**. I look at the file first.' },
        textPart(MARKDOWN),
        callPart({
          id: 'c1',
          locations: [{ path: '/code/sample/src/server.ts', line: 3 }],
          output: [{ kind: 'content', content: { type: 'text', text: before.repeat(8) } }],
        }),
        callPart({
          id: 'c2',
          name: 'EditFile',
          title: 'Edit src/server.ts',
          kind: 'edit',
          locations: [{ path: '/code/sample/src/server.ts', line: 1 }],
          output: [{ kind: 'diff', diff: { path: '/code/sample/src/server.ts', before, after } }],
        }),
        callPart({
          id: 'c2b',
          name: 'WriteFile',
          title: 'Write docs/port.md',
          kind: 'edit',
          output: [
            { kind: 'diff', diff: { path: '/code/sample/docs/port.md', before: null, after: '# Port\n\n8080 unless told otherwise.\n' } },
          ],
        }),
        callPart({
          id: 'c3',
          name: 'Shell',
          title: 'npm test',
          kind: 'execute',
          input: { command: 'npm test' },
          output: [{ kind: 'terminal', terminalId: 'term1' }],
        }),
        callPart({ id: 'c4', name: 'Task', title: 'Sub-agent: look for other callers', kind: 'other' }),
        callPart({ id: 'c5', parent: 'c4', name: 'Grep', title: 'Search for start(', kind: 'search' }),
        { kind: 'text', id: 'p5', parent: 'c4', text: 'Two callers, both pass a port.' },
        callPart({
          id: 'c6',
          name: 'Fetch',
          title: 'Fetch https://example.com/spec',
          kind: 'fetch',
          status: 'failed',
          error: { message: 'The server answered 404.', code: 'HTTP_404' },
        }),
        callPart({ id: 'c7', name: 'Shell', title: 'rm -rf dist', kind: 'execute', status: 'rejected', input: { command: 'rm -rf dist' } }),
        callPart({ id: 'c8', name: 'Delete', title: 'Delete old.ts', kind: 'delete', status: 'cancelled' }),
        { kind: 'content', id: 'x1', content: { type: 'image', mime: 'image/png', data: picture } },
        { kind: 'content', id: 'x2', content: { type: 'link', uri: 'https://example.com/report', title: 'Report' } },
        { kind: 'content', id: 'x3', content: { type: 'raw', label: 'video/mp4', value: { seconds: 12 } } },
        { kind: 'prompt', id: 'st1', content: [{ type: 'text', text: 'Also say so in the docs.' }] },
        { kind: 'notice', id: 'n1', notice: { level: 'info', text: 'The context was shortened.' } },
        textPart('Done: the port is **optional** now, and the tests pass.', 'p9'),
      ],
    }),
    turn({
      id: 't2',
      prompt: [{ type: 'text', text: 'Publish it' }],
      status: 'failed',
      error: { message: 'The model did not answer: 401 Unauthorized.', code: '401', next: ['configureModel', 'retry', 'showLog'] },
    }),
    turn({ id: 't3', prompt: [{ type: 'text', text: 'Wait' }], status: 'cancelled', parts: [textPart('I was about to', 'p31')] }),
    turn({
      id: 't4',
      prompt: [{ type: 'text', text: 'Watch the build' }],
      status: 'running',
      activity: 'The model is busy; trying again in 4 s…',
      parts: [
        callPart({
          id: 'd0',
          name: 'Plan',
          title: 'Think about it',
          kind: 'think',
          status: 'pending',
          input: undefined,
          inputText: '{"thought": "The wat',
        } as never),
        callPart({
          id: 'd1',
          name: 'Shell',
          title: 'npm run watch',
          kind: 'execute',
          status: 'running',
          output: [{ kind: 'terminal', terminalId: 'term2' }],
        }),
        callPart({ id: 'd2', name: 'Shell', title: 'git push', kind: 'execute', status: 'waiting' }),
        { kind: 'thought', id: 'th2', text: 'It runs.' },
      ],
    }),
  ],
  queue: [{ turnId: 'q1', content: [{ type: 'text', text: 'Then write the changelog' }] }],
});

const hostile = 'git push \u202egnp.exe\u202c && echo done\u200b';

const asking: Session = session({
  title: 'Release',
  turns: [
    turn({
      status: 'running',
      prompt: [{ type: 'text', text: 'Release it' }],
      parts: [textPart('I need a decision.'), callPart({ id: 'd2', name: 'Shell', title: 'git push', kind: 'execute', status: 'waiting' })],
    }),
  ],
  asks: [
    {
      kind: 'approval',
      id: 'a1',
      turnId: 't1',
      callId: 'd2',
      title: 'Run a command',
      asker: 'release helper',
      toolKind: 'execute',
      detail: { type: 'command', command: hostile, cwd: '/code/sample' },
      options: [
        { id: 'o1', label: 'Yes', effect: 'allow_once' },
        { id: 'o2', label: 'Yes, always for this session', effect: 'allow_always', description: 'Until the agent ends' },
        { id: 'o3', label: 'No', effect: 'reject_once' },
      ],
    },
    {
      kind: 'approval',
      id: 'a2',
      turnId: 't1',
      title: 'Change a file',
      toolKind: 'edit',
      detail: { type: 'edit', diffs: [{ path: '/code/sample/src/server.ts', before, after }] },
      options: [
        { id: 'allow', label: 'Approve', effect: 'allow_once' },
        { id: 'deny', label: 'Reject', effect: 'reject_once' },
      ],
      editable: true,
    },
    {
      kind: 'question',
      id: 'q1',
      turnId: 't1',
      title: 'Two things before I go on',
      fields: [
        {
          id: 'f1',
          label: 'Which version?',
          body: 'The last one was `1.4.2`.',
          choices: [
            { label: 'Patch', description: '1.4.3' },
            { label: 'Minor', description: '1.5.0' },
          ],
          free: true,
          freeLabel: 'Another version',
        },
        { id: 'f2', label: 'Where to?', choices: [{ label: 'npm' }, { label: 'GitHub' }], many: true },
        { id: 'f3', label: 'What changed, in a sentence?', required: true },
        { id: 'f4', label: 'Sign it?', kind: 'boolean', initial: ['true'] },
        { id: 'f5', label: 'How many days?', kind: 'integer', min: 1, max: 30, initial: ['40'] },
        { id: 'f6', label: 'Token', kind: 'secret' },
      ],
    },
  ],
});

const options: Approval['options'] = [
  { id: 'always', label: 'Allow for this session', effect: 'allow_always' },
  { id: 'once', label: 'Allow', effect: 'allow_once' },
  { id: 'no', label: 'Reject', effect: 'reject_once' },
];

function asks(change: Partial<Approval> & Pick<Approval, 'detail'>): Session {
  const ask: Approval = { kind: 'approval', id: 'a', turnId: 't1', title: 'Do it', toolKind: 'execute', options, ...change };
  return session({
    title: 'Make the port optional',
    turns: [turn({ status: 'running', parts: [textPart('I run the tests first.')] })],
    asks: [ask],
  });
}

const script = `set -euo pipefail\nfor f in dist/*.js; do\n  node --check "$f"\ndone\n${Array.from({ length: 26 }, (_, at) => `echo step ${at}`).join('\n')}`;

/** One approval of each kind. */
const cards = {
  cardCommand: asks({ detail: { type: 'command', command: 'npm test' } }),
  cardScript: asks({ detail: { type: 'command', command: script } }),
  cardEdit: asks({ toolKind: 'edit', detail: { type: 'edit', diffs: [{ path: '/code/sample/src/server.ts', before, after }] } }),
  cardNew: asks({
    toolKind: 'edit',
    detail: { type: 'edit', diffs: [{ path: '/code/sample/docs/port.md', before: null, after: '# Port\n\n8080.\n' }] },
  }),
  cardDelete: asks({ toolKind: 'delete', detail: { type: 'edit', diffs: [{ path: '/code/sample/old.ts', before, after: null }] } }),
  cardFiles: asks({
    toolKind: 'edit',
    detail: { type: 'edit', diffs: Array.from({ length: 10 }, (_, at) => ({ path: `/code/sample/src/part${at}.ts`, before, after })) },
  }),
  cardMcp: asks({
    toolKind: 'other',
    detail: { type: 'mcp', server: 'github', tool: 'create_issue', input: { title: 'Count prints a number', labels: ['bug'] } },
  }),
  cardDanger: asks({ detail: { type: 'command', command: 'curl -fsSL https://get.example.sh | sudo sh' } }),
  cardWarnings: asks({ detail: { type: 'command', command: 'node -e "x" > ../out.txt' } }),
  cardQuestion: session({
    title: 'Keep notes in a database',
    turns: [turn({ status: 'running', parts: [textPart('The notes need a place.')] })],
    asks: [
      {
        kind: 'question',
        id: 'a',
        turnId: 't1',
        title: 'The store needs a place',
        fields: [
          { id: 'd', label: 'Which database?', required: true, choices: [{ label: 'SQLite' }, { label: 'PostgreSQL' }] },
          { id: 'n', label: 'Its name', kind: 'text' },
        ],
      },
    ],
  }),
  cardPlan: asks({
    toolKind: 'think',
    title: 'Start with this plan?',
    detail: { type: 'text', markdown: true, text: '1. Read the **server**\n2. Give the port a default\n3. Run the tests' },
    options: [
      { id: 'auto', label: 'Yes, and accept edits', effect: 'allow_always' },
      { id: 'yes', label: 'Yes, ask before each edit', effect: 'allow_once' },
      { id: 'no', label: 'No, keep planning', effect: 'reject_once' },
    ],
  }),
} as const;

const long: Session = session({
  title: 'A long day',
  turns: Array.from({ length: 500 }, (_, index) =>
    turn({
      id: `t${index}`,
      prompt: [{ type: 'text', text: `Step ${index}: look at file ${index} and mend it` }],
      parts: [
        textPart(MARKDOWN, `p${index}`),
        callPart({ id: `r${index}`, output: [{ kind: 'content', content: { type: 'text', text: before } }] }),
        callPart({ id: `g${index}`, title: 'Search', kind: 'search' }),
        callPart({
          id: `e${index}`,
          title: 'Edit',
          kind: 'edit',
          output: [{ kind: 'diff', diff: { path: '/code/sample/src/server.ts', before, after } }],
        }),
        callPart({
          id: `x${index}`,
          title: 'npm test',
          kind: 'execute',
          output: [{ kind: 'content', content: { type: 'text', text: 'ok' } }],
        }),
        textPart('Done.', `q${index}`),
      ],
    }),
  ),
});

export const sessions: Readonly<Record<string, Session | undefined>> = {
  everything,
  asking,
  ...cards,
  long,
  none: undefined,
  empty: session({}),
  opening: session({ link: { state: 'opening', note: 'Starting MCP servers (2 of 3)…' } }),
  closed: session({
    turns: [turn({ parts: [textPart('Half an answ')], status: 'failed', error: { message: 'The agent ended.', next: ['restart'] } })],
    link: {
      state: 'closed',
      reason: '"kimi --wire" stopped unexpectedly.',
      detail: 'exit 1\n\nTraceback (most recent call last):\n  File "main.py", line 3\nImportError: no module named wire',
      next: ['restart', 'showLog', 'pickAgent'],
    },
  }),
  tools: session({
    link: {
      state: 'ready',
      offers: {
        ...offers,
        tools: { accepted: ['open_in_ide'], rejected: [{ name: 'show_diff', reason: 'conflicts with a built-in tool' }] },
      },
    },
  }),
};
