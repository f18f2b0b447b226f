import type { ColouredCode, FromView, Mention, SessionLine, ToView, ViewCall } from '../../../src/bridge/contract.ts';
import { openAnswers } from '../../../src/bridge/outbox.ts';
import type { SessionEvent } from '../../../src/session/events.ts';
import { reduce } from '../../../src/session/reduce.ts';
import { sessions } from './sessions.ts';
import themes from './themes.json';

/** Plays the extension host for the built view: ?session=NAME&theme=NAME&trusted=no. Everything the view sends is in `page.sent`. */
const query = new URLSearchParams(location.search);
const theme = themes[(query.get('theme') ?? 'dark') as keyof typeof themes];
for (const [name, value] of Object.entries(theme.variables)) document.documentElement.style.setProperty(name, value);
document.addEventListener('DOMContentLoaded', () => {
  document.body.classList.add(...theme.body.split(' '));
  document.body.dataset.vscodeThemeId = query.get('theme') ?? 'dark';
});

let shown = sessions[query.get('session') ?? 'everything'];
let seq = 0;
const sent: FromView[] = [];
const now = Date.now();
const hour = 3_600_000;
const lines: readonly SessionLine[] = [
  { id: 's2', title: 'Explain the build', agent: 'Kimi', profile: 'kimi', state: 'busy', asks: 2, at: now, files: 0 },
  { id: 's1', title: shown?.title ?? '', agent: 'Parley Agent', profile: 'parley', state: 'busy', asks: 0, at: now - 1, files: 1 },
];
const past: readonly SessionLine[] = [
  {
    id: 's3',
    title: 'Release 0.2',
    agent: 'Gemini CLI',
    profile: 'g',
    state: 'past',
    asks: 0,
    at: now - 50 * hour,
    files: 4,
    pinned: true,
  },
  ...lines,
  {
    id: 's4',
    title: 'Why does npm test fail?',
    agent: 'Qwen Code',
    profile: 'q',
    state: 'past',
    asks: 0,
    at: now - 24 * hour,
    files: 0,
    failed: true,
  },
  {
    id: 's5',
    title: 'Set up continuous integration for the notes',
    agent: 'Gemini CLI',
    profile: 'g',
    state: 'past',
    asks: 0,
    at: now - 200 * hour,
    files: 3,
  },
];

function post(message: ToView): void {
  window.postMessage(message, '*');
}

function show(): void {
  post({
    type: 'sessions',
    list: shown ? lines : [],
    ...(shown ? { active: shown.id } : {}),
    profiles: [
      { id: 'parley', name: 'Parley Agent', isDefault: true, ...(query.has('model') ? { model: query.get('model') ?? '' } : {}) },
      { id: 'kimi', name: 'Kimi' },
    ],
  });
  if (shown) post({ type: 'snapshot', sessionId: shown.id, seq, session: shown, answers: openAnswers(shown) });
}

function patch(events: readonly SessionEvent[]): void {
  if (!shown || events.length === 0) return;
  shown = events.reduce(reduce, shown);
  post({ type: 'patch', sessionId: shown.id, from: seq + 1, seq: seq + events.length, events, answers: openAnswers(shown) });
  seq += events.length;
}

const results: Partial<Record<ViewCall['method'], unknown>> = {
  models: [
    { name: 'anthropic/claude-sonnet-4.5', price: '$3 / $15' },
    { name: 'anthropic/claude-opus-4.1', price: '$15 / $75' },
    { name: 'qwen3-coder' },
  ],
  findSessions: past,
  findSetups: [
    { kind: 'agent', id: 'claude', name: 'Claude Code', detail: 'installed · 2.1.0' },
    { kind: 'endpoint', id: 'o', name: 'Ollama', detail: 'running, 3 models' },
  ],
  lookAround: { tests: true, changes: true, readme: true },
  attach: [{ type: 'file', path: 'Problems (4)', text: 'src/server.ts:12:3: error: Cannot find name "port".' }],
};

/** Every word in another one of the theme's colours. */
function inColours(text: string): ColouredCode {
  const looks = [{}, ...Object.values(theme.tokens).map((colour) => ({ colour }))];
  const lines = text
    .split('\n')
    .map((line) => (line.match(/\s+|\S+/g) ?? []).flatMap((word, at) => [word.length, ((at / 2) % looks.length) | 0]));
  return { looks, lines };
}

function answer(message: ViewCall): void {
  const files = ['src/server.ts', 'src/config.ts', 'test/server.test.ts'].filter(
    (path) => message.method !== 'findMentions' || path.includes(message.params.query),
  );
  const mentions: readonly Mention[] = [
    { kind: 'selection', label: 'Selection', detail: 'src/server.ts:3-9' },
    { kind: 'problems', label: 'Problems', detail: '4' },
    ...files.map((path): Mention => ({ kind: 'file', path: `/code/sample/${path}`, label: path })),
    { kind: 'folder', path: '/code/sample/src/', label: 'src/' },
    { kind: 'symbol', path: '/code/sample/src/server.ts', line: 4, label: 'start', detail: 'src/server.ts:4' },
  ];
  const known: Partial<Record<ViewCall['method'], unknown>> = {
    ...results,
    findMentions: mentions,
    folders: [],
    ...(message.method === 'colourCode' ? { colourCode: inColours(message.params.text) } : {}),
    ...(message.method === 'existing'
      ? { existing: message.params.paths.filter((path) => files.some((file) => path.endsWith(file))) }
      : {}),
  };
  const result = known[message.method] ?? null;
  post({ type: 'reply', id: message.id, result });
}

Object.assign(window, {
  page: { sent, patch, post },
  acquireVsCodeApi: () => ({
    postMessage(message: FromView) {
      sent.push(message);
      if (message.type === 'call') answer(message);
      if (message.type !== 'ready') return;
      post({ type: 'hello', strings: {}, language: 'en', trusted: query.get('trusted') !== 'no' });
      show();
    },
    getState: () => JSON.parse(sessionStorage.getItem('state') ?? 'null') as unknown,
    setState: (state: unknown) => sessionStorage.setItem('state', JSON.stringify(state)),
  }),
});
