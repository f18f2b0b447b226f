import { t } from '../../base/l10n.ts';
import type { Quirk } from '../../conversation/quirk.ts';
import type { ModeChoice } from '../../session/model.ts';

/** How one product of the message dialect differs from the others (docs/protocols/qwen.md §1.1, §12). */
export interface ProductTraits {
  /** The name that the product gives itself. */
  readonly name: string;
  /** Flags for the start that are added when the profile does not give them; a `null` value is a flag without one. */
  readonly flags: readonly (readonly [flag: string, value: string | null])[];
  readonly env: Readonly<Record<string, string>>;
  /** The name our tools go by as a server in the conversation; the model sees `mcp__<server>__<tool>`. */
  readonly server: string;
  /** The member `sdkMcpServers` of `initialize` that announces one of Parley's servers. */
  readonly announce: (server: string) => unknown;
  readonly takesImages: boolean;
  /** The input of a call may be changed in the answer that allows it. */
  readonly takesUpdatedInput: boolean;
  /** Milliseconds after which it refuses an unanswered request itself. */
  readonly approvalLimit?: number;
  /** Milliseconds it waits for an answer about one of Parley's tools. */
  readonly toolLimit?: number;
  /** The key of the answers to its questions. */
  readonly answersBy: 'index' | 'question';
  readonly modes: () => ModeChoice['all'];
  /** Modes in which the agent no longer asks. */
  readonly unattended: readonly string[];
  /** The mode in which edits need no approval, offered with each edit when it proposes nothing itself. */
  readonly editsMode?: string;
  /** Speaks the message dialect and nothing else. */
  readonly onlyMessages: boolean;
  /** Keeps what files held before each message, and goes on from any message of a conversation. */
  readonly checkpoints?: true;
}

/** One list for all: a product started by a name we do not know still sends its own words. */
const UNATTENDED = ['auto', 'yolo', 'bypassPermissions'] as const;
const STREAMS = [
  ['--input-format', 'stream-json'],
  ['--output-format', 'stream-json'],
] as const;

const qwenCode: ProductTraits = {
  name: 'Qwen Code',
  // Without a mode the default of Qwen Code lets a classifier approve edits.
  flags: [...STREAMS, ['--include-partial-messages', null], ['--approval-mode', 'default']],
  env: { QWEN_CODE_NO_RELAUNCH: '1' },
  server: 'ide',
  announce: (server) => ({ [server]: { type: 'sdk', name: server } }),
  takesImages: false,
  takesUpdatedInput: false,
  approvalLimit: 600_000,
  toolLimit: 30_000,
  answersBy: 'index',
  modes: () => [
    { id: 'plan', name: 'Plan', description: t('Reads and plans; changes nothing') },
    { id: 'default', name: 'Ask', description: t('Asks before edits and commands') },
    { id: 'auto-edit', name: 'Auto-edit', description: t('Edits without asking') },
    { id: 'auto', name: 'Auto', description: t('A model decides what needs asking') },
    { id: 'yolo', name: 'YOLO', description: t('The agent edits files and runs commands without asking you.') },
  ],
  unattended: UNATTENDED,
  editsMode: 'auto-edit',
  onlyMessages: false,
};

const claudeCode: ProductTraits = {
  name: 'Claude Code',
  flags: [
    ['-p', null],
    ['--verbose', null],
    ...STREAMS,
    ['--include-partial-messages', null],
    ['--permission-mode', 'default'],
    ['--permission-prompt-tool', 'stdio'],
  ],
  env: { CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: '1' },
  // It hides the tools of a server called "ide" from the model, but for two of its own.
  server: 'parley',
  announce: (server) => [server],
  takesImages: true,
  takesUpdatedInput: true,
  answersBy: 'question',
  modes: () => [
    { id: 'plan', name: 'Plan', description: t('Reads and plans; changes nothing') },
    { id: 'default', name: 'Ask', description: t('Asks before edits and commands') },
    { id: 'acceptEdits', name: 'Accept edits', description: t('Edits without asking') },
    { id: 'auto', name: 'Auto', description: t('A model decides what needs asking') },
    { id: 'dontAsk', name: 'No questions', description: t('Refuses what would need asking') },
    { id: 'bypassPermissions', name: 'Bypass permissions', description: t('The agent edits files and runs commands without asking you.') },
  ],
  unattended: UNATTENDED,
  onlyMessages: true,
  checkpoints: true,
};

export type Product = 'qwen' | 'claude';
export const PEERS: Readonly<Record<Product, ProductTraits>> = { qwen: qwenCode, claude: claudeCode };

const { approvalLimit: _, toolLimit: __, editsMode: ___, ...unlimited } = qwenCode;
/** How approvals go in the envelope dialect: nothing expires by itself, modes do not exist. */
export const envelopePeer: ProductTraits = unlimited;

/** Recognises the product that a command line starts by the names of the program and its script. */
export function productOf(command: string, args: readonly string[]): Product {
  const words = [command, ...args.filter((arg) => !arg.startsWith('-'))].slice(0, 3);
  return words.some((word) => /(^|[\\/@-])claude(-code)?(\.(exe|cmd|js|cjs|mjs))?$/i.test(word)) ? 'claude' : 'qwen';
}

/** Differences of the products. Each row names the transcript (test/protocols/qwen/cases) that shows how it is met. */
export const QUIRKS: readonly Quirk[] = [
  {
    id: 'startsWithoutAsking',
    peers: 'Qwen Code',
    what: 'Without a mode on the command line a classifier approves edits, so one is always given.',
    transcript: 'flags the profile gives itself are not given twice; a mode is always given',
  },
  {
    id: 'firstLine',
    peers: 'Qwen Code',
    what: 'The very first line decides what it speaks; a heartbeat there would leave it deaf to control requests.',
    transcript: 'auto: the first line is initialize, the second a heartbeat, in that order',
  },
  {
    id: 'approvalLimit',
    peers: 'Qwen Code',
    what: 'It refuses by itself what nobody answered in a minute, or in ten when asked for.',
    transcript: 'nobody answers: the card says until when; refused before the agent gives up, and no button is left',
  },
  {
    id: 'ignoresUpdatedInput',
    peers: 'Qwen Code',
    what: 'It runs the original input of an edit, so the version of the user is written here and the agent is told.',
    transcript: 'an edited proposal: this agent does not take it, so it is written here and the agent is told',
  },
  {
    id: 'resultOfSubAgent',
    peers: 'Qwen Code',
    what: 'A sub-agent that failed says so as if the turn were over.',
    transcript: "a sub-agent's lines stand under its call; its failure does not end the turn",
  },
  {
    id: 'fieldsInData',
    peers: 'Qwen Code',
    what: 'What a system line is about stands in its data.',
    transcript:
      'a sub-agent of Qwen Code in the background: fields are in the data, its card goes on until its task ends, and no text for the model is shown',
  },
  {
    id: 'deniesAgain',
    peers: 'Qwen Code',
    what: 'Each result names all that was refused in the session.',
    transcript: 'what was refused without asking is named once, also by an agent that lists it again with every later turn',
  },
  {
    id: 'hidesServerNamedIde',
    peers: 'Claude Code',
    what: 'It hides the tools of a server called "ide" from the model, so ours has another name.',
    transcript: 'Claude Code is known by its name: its flags, its tools, no probe',
  },
  {
    id: 'answersByQuestion',
    peers: 'Claude Code',
    what: 'Answers to its questions are filed under the question, not under a number.',
    transcript: 'Claude Code files answers by the question',
  },
  {
    id: 'takesBack',
    peers: 'Claude Code',
    what: 'It takes requests back by control_cancel_request; then nothing is answered.',
    transcript: 'Claude Code takes a request back: nothing is answered',
  },
  {
    id: 'resetsItself',
    peers: 'Claude Code',
    what: 'It says in a line of its own that the conversation starts over.',
    transcript: 'Claude Code says itself that the conversation starts over',
  },
  {
    id: 'wholeBeforeStop',
    peers: 'Claude Code',
    what: 'A whole message comes before the end of its block, and indexes go on.',
    transcript: 'the other order: the whole message before the end of its block, indexes that go on, one message id',
  },
  {
    id: 'interruptions',
    peers: 'Claude Code',
    what: 'It writes "[Request interrupted" in the user\'s name for its model.',
    transcript: 'that a sub-agent was stopped is no prompt for it',
  },
  {
    id: 'errorsInList',
    peers: 'Claude Code',
    what: 'Why it did not start stands in `errors`, not in `error`.',
    transcript: 'why Claude Code did not start stands in the list of errors',
  },
  {
    id: 'planWithCall',
    peers: 'Claude Code',
    what: 'The plan may come with the call alone, and not again with the request about it.',
    transcript: 'the plan that came with the call is what is approved',
  },
];
