import type { Face } from './face.ts';
import { estimate, type History } from './history.ts';
import type { Message, Model, ToolOffer } from './models/model.ts';
import { resultText, textOf } from './models/model.ts';

export interface CompactionScene {
  readonly face: Face;
  readonly model: Model;
  readonly history: History;
  readonly signal: AbortSignal;
  readonly system: () => Promise<string>;
  readonly offers: () => readonly ToolOffer[];
}

/** The share of the context at which the history is shortened. */
const NEAR = 0.8;
/** Messages kept as they are at the end, at least. */
const KEPT = 4;

const REQUEST =
  'Summarise this conversation so that the work can go on from the summary alone: what the user wants, what was decided, what was done (with file paths and names), what was found, what is left to do. Be complete and brief. Do not call tools.';

/** Shortens the history when it nears the size of the model's context. */
export async function compactWhenNear(scene: CompactionScene): Promise<void> {
  if (scene.history.tokens < scene.model.contextSize * NEAR) return;
  await compact(scene);
}

/** Puts a summary in the place of all but the last messages. False when there is too little to shorten. */
export async function compact(scene: CompactionScene, hint = ''): Promise<boolean> {
  const messages = scene.history.messages;
  const cut = cutOf(messages);
  if (cut === 0) return false;
  scene.face.say({ type: 'compaction.began' });
  try {
    const summary = await summarise(scene, messages.slice(0, cut), hint);
    const note: Message = { role: 'user', parts: [{ type: 'text', text: `<summary of the conversation so far>\n${summary}\n</summary>` }] };
    scene.history.replace([note, { role: 'assistant', text: 'Understood. I go on from this summary.', calls: [] }, ...messages.slice(cut)]);
  } finally {
    scene.face.say({ type: 'compaction.ended' });
  }
  scene.face.say({ type: 'status', contextTokens: scene.history.tokens, contextSize: scene.model.contextSize });
  return true;
}

/** Where the kept tail begins: at a user message, so that no result loses its call. 0 when nothing can go. */
function cutOf(messages: readonly Message[]): number {
  for (let at = messages.length - KEPT; at > 0; at -= 1) {
    if (messages[at]?.role === 'user') return at;
  }
  // One long turn: keep its end, from an answer on.
  for (let at = messages.length - KEPT; at > 1; at -= 1) {
    if (messages[at]?.role === 'assistant') return at;
  }
  return 0;
}

async function summarise(scene: CompactionScene, messages: readonly Message[], hint: string): Promise<string> {
  const transcript = transcriptOf(messages, scene.model.contextSize);
  const request = hint === '' ? REQUEST : `${REQUEST} Keep above all: ${hint}`;
  let text = '';
  const history: readonly Message[] = [{ role: 'user', parts: [{ type: 'text', text: `${transcript}\n\n${request}` }] }];
  for await (const piece of scene.model.answer({ system: 'You summarise conversations.', history, tools: [] }, scene.signal)) {
    if (piece.type === 'text') text += piece.text;
  }
  scene.signal.throwIfAborted();
  return text.trim() === '' ? transcript.slice(-4000) : text.trim();
}

/** The conversation as text, long results cut, small enough for the same model. */
function transcriptOf(messages: readonly Message[], contextSize: number): string {
  for (let most = 4000; ; most = Math.floor(most / 2)) {
    const text = messages.map((message) => line(message, most)).join('\n\n');
    if (most < 100 || estimate([{ role: 'user', parts: [{ type: 'text', text }] }]) < contextSize * 0.6) return text;
  }
}

function line(message: Message, most: number): string {
  if (message.role === 'user') return `USER: ${cut(textOf(message.parts), most * 2)}`;
  if (message.role === 'tool') return `RESULT of ${message.name}: ${cut(resultText(message), most)}`;
  const calls = message.calls.map((call) => `\nCALL ${call.name} ${cut(call.input, most)}`).join('');
  return `ASSISTANT: ${cut(message.text, most * 2)}${calls}`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most / 2)} ... ${text.slice(-most / 2)}`;
}
