import type { Quirk } from '../../conversation/quirk.ts';

/**
 * Deviations of single servers from the protocol. No server can be recognised by its name, so each deviation is handled wherever it appears, and its
 * transcript is in `test/protocols/ai-sdk/cases`.
 */
export const QUIRKS: readonly Quirk[] = [
  {
    id: 'noBlockMarks',
    peers: 'servers in Rust',
    what: 'sends deltas without the start of their block, under `textDelta`, or never the end of it',
    transcript: 'a delta without a start opens its block, an end without a start is ignored, and missing ends are added',
  },
  {
    id: 'newMessageId',
    peers: 'servers in Rust',
    what: 'gives a continued message a new id',
    transcript: 'a continuation with another id renames the message, one without an id keeps it',
  },
  {
    id: 'changingCallId',
    peers: 'servers in Rust',
    what: 'uses one id while the input of a call streams and another when it is complete',
    transcript: 'one id while the input streams and another when it is complete are one call',
  },
  {
    id: 'toolCallChunk',
    peers: 'servers that pass the events of their model on',
    what: 'announces a call as `tool-call` with `args`',
    transcript: 'a call that is announced as "tool-call" with "args" has a card and runs',
  },
  {
    id: 'markerEvent',
    peers: 'servers that hold their response open',
    what: 'says by an event of its own that a result is awaited, sometimes in place of the complete input',
    transcript: 'the marker as an event makes a call of complete input that was never announced as complete',
  },
  {
    id: 'markerAbort',
    peers: 'servers that take results in a new user message',
    what: 'ends its response with an error or an abort that holds `__FRONTEND_TOOL__`',
    transcript: 'the marker in an abort is not a cancellation, and nobody reads it',
  },
  {
    id: 'errorTwice',
    peers: 'AI SDK 5 and 6',
    what: 'sends two error chunks for input that was bad, the second one masked',
    transcript: 'two error chunks for one bad call: the first text stays',
  },
  {
    id: 'noFinish',
    peers: 'Mastra',
    what: 'ends its response right after an approval request, without finish',
    transcript: 'a response that ends right after an approval request, without finish',
  },
  {
    id: 'snakeCaseUsage',
    peers: 'servers in Python and Rust',
    what: 'tells token counts in snake case',
    transcript: 'token counts in the spellings of servers',
  },
];
