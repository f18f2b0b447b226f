import type { Quirk } from '../../conversation/quirk.ts';

/**
 * Deviations of Wire agents from the protocol. No agent is recognised by its name: each row is handled for every agent, and its
 * transcript in `test/protocols/kimi-wire/cases` fails without that.
 */
export const QUIRKS: readonly Quirk[] = [
  {
    id: 'no handshake',
    peers: 'Kimi CLI before 0.79 (Wire 1.0)',
    what: '`initialize` is refused as unknown: the session goes on without tools, replay and modes',
    transcript: '-32601: the session goes on as 1.0',
  },
  {
    id: 'silent handshake',
    peers: 'Kimi CLI 0.78',
    what: '`initialize` gets no answer at all: the program is asked what it is, and the user decides',
    transcript: 'silence (0.78): going on without the handshake',
  },
  {
    id: 'no session flag',
    peers: 'Kimi CLI before `--session`',
    what: 'ends with code 2 over the flag: it is started again without it',
    transcript: 'an old server that refuses the session flag is started again without it',
  },
  {
    id: 'same name, other protocol',
    peers: 'Kimi Code',
    what: 'a program of the same name that does not speak Wire: the user is told how to choose it as ACP',
    transcript: 'Kimi Code is recognised though nothing could be written to it',
  },
  {
    id: 'one bad tool refuses all',
    peers: 'Kimi CLI',
    what: '-32602 for the whole handshake: once more without tools',
    transcript: '-32602 with tool drop: once more without tools, and the user is told',
  },
  {
    id: 'tool names that are taken',
    peers: 'Kimi CLI',
    what: 'a tool is rejected with "conflict": it is offered again with a prefix',
    transcript: 'rejected tool whose name is taken: offered again under a name of ours, and called by it',
  },
  {
    id: 'cancel waits for answers',
    peers: 'Kimi CLI before 1.12',
    what: 'a turn that is cancelled while a request is open never ends: requests are answered before the cancel',
    transcript: 'approval open: answered first, then cancel',
  },
  {
    id: 'asks after the cancel',
    peers: 'Kimi CLI 1.25 to 1.31',
    what: 'a request that comes after the cancel is declined at once',
    transcript: 'what is asked after the cancel is refused at once',
  },
  {
    id: 'deaf to cancel',
    peers: 'any',
    what: 'a turn that does not end is ended with its process, and the session goes on in another',
    transcript: 'not obeyed: a restart is offered, then done, and the same session goes on in a new process',
  },
  {
    id: 'no TurnEnd',
    peers: 'Wire before 1.2',
    what: 'only the reply to `prompt` ends a turn of the user; in a record the next turn does',
    transcript: 'replay of old recordings: the old names, no TurnEnd',
  },
  {
    id: 'one call id twice',
    peers: 'models',
    what: 'two calls of one id are two cards, and results go to them in their order',
    transcript: 'the same call id twice makes two cards, and two results close both',
  },
  {
    id: 'results of deduplicated calls',
    peers: 'Kimi CLI',
    what: 'one `ToolCallRequest` answers two calls of the same arguments',
    transcript: 'dedup: one request and two results',
  },
  {
    id: 'events with ids',
    peers: 'Kimi CLI',
    what: 'an event is an event, whatever id it carries, and gets no answer',
    transcript: 'an event that carries an id is an event and gets no answer',
  },
  {
    id: 'settled elsewhere',
    peers: 'Kimi CLI',
    what: 'an allowance for the session settles other approvals without an answer of ours',
    transcript: 'for session settles others: the server says so, the asks vanish, and no answer of ours follows',
  },
  {
    id: 'turns of its own',
    peers: 'Kimi CLI with background tasks',
    what: 'the agent begins a turn nobody prompted: it is shown, and gives way to a prompt',
    transcript: 'a turn the server begins by itself is shown, and ends with its TurnEnd or is cut off by our next prompt',
  },
];
