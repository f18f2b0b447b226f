import { localize } from '../../locale.ts';
import { type Message, type Model, ModelError, type ModelPiece, type ModelRequest, type ToolMessage, textOf } from '../model.ts';
import { type Asked, askedOf, sayFor } from './language.ts';
import { createRequest } from './requests/create.ts';
import { definitionRequest, diagnosticsRequest, editorsRequest, openRequest, referencesRequest } from './requests/editor.ts';
import { explainRequest } from './requests/explain.ts';
import { findRequest, whereRequest } from './requests/find.ts';
import { connectRequest, helpRequest, notUnderstood, whoRequest } from './requests/help.ts';
import { listRequest } from './requests/list.ts';
import { planRequest } from './requests/plan.ts';
import { readRequest } from './requests/read.ts';
import { replaceRequest } from './requests/replace.ts';
import { changesRequest, runRequest } from './requests/run.ts';
import type { GuideContext, Move, Request, Script } from './script.ts';
import { footnote } from './texts.ts';

/**
 * The offline guide: what answers while no model is configured. Plain rules, the same answer to the same request every time, by calling the
 * same tools a language model would.
 */
export const guideModel: Model = {
  name: localize('offline guide', '离线向导'),
  contextSize: 200_000,
  offline: true,
  answer: async function* (request, signal) {
    signal.throwIfAborted();
    const asking = request.history.findLast((message) => message.role === 'user');
    const result = request.history.at(-1);
    const hasMedia = result?.role === 'tool' && result.media !== undefined;
    if (hasMedia || (asking?.role === 'user' && asking.parts.some((part) => part.type !== 'text'))) {
      throw new ModelError(
        'model_cannot',
        localize(
          'The offline guide cannot look at pictures or listen to sounds. Connect a model that can: Parley: Configure Model.',
          '离线向导无法查看图片或收听声音。请连接支持的模型：Parley: Configure Model。',
        ),
      );
    }
    yield* piecesOf(moveFor(request));
  },
};

function moveFor(request: ModelRequest): Move {
  const { history } = request;
  const at = history.findLastIndex((message) => message.role === 'user');
  const asking = history[at];
  if (asking?.role !== 'user' || request.tools.length === 0) return { text: gist(history), calls: [] };
  const asked = askedOf(textOf(asking.parts));
  const speak = sayFor(asked.text);
  const scene: GuideContext = { cwd: request.cwd, say: speak, offers: request.tools, history: history.slice(0, at) };
  const done = resultsAfter(history.slice(at + 1));
  const first = !scene.history.some((message) => message.role === 'user');
  return play(requests(asked, scene), done, first ? footnote(speak) : '');
}

/** The script up to where the results end, and one move more. */
function play(script: Script, done: readonly (readonly ToolMessage[])[], closing: string): Move {
  let next = script.next();
  for (const results of done) {
    if (next.done) break;
    next = script.next(results);
  }
  return next.done ? { text: next.value + closing, calls: [] } : next.value;
}

/** The results of each step of this turn, in the order of its calls. */
function resultsAfter(messages: readonly Message[]): readonly (readonly ToolMessage[])[] {
  const steps: ToolMessage[][] = [];
  for (const message of messages) {
    if (message.role === 'assistant' && message.calls.length > 0) steps.push([]);
    if (message.role === 'tool') steps.at(-1)?.push(message);
  }
  return steps;
}

/** In small pieces, as a language model writes. */
function* piecesOf(move: Move): Generator<ModelPiece> {
  for (const piece of move.text.match(/[\s\S]{1,24}(?=\s|$)|[\s\S]{1,24}/gu) ?? []) yield { type: 'text', text: piece };
  for (const { name, input } of move.calls) yield { type: 'call', call: { id: '', name, input: JSON.stringify(input) } };
}

/** Stands in for a summary: the requests themselves. */
function gist(history: readonly Message[]): string {
  const text = history.map((message) => (message.role === 'user' ? textOf(message.parts) : '')).join('\n');
  const asked = text.match(/^USER: .*$/gm) ?? [];
  return asked.slice(-20).join('\n') || 'Nothing was asked yet.';
}

/** Everything the guide understands, the particular before the general. */
const simple: readonly Request[] = [
  helpRequest,
  whoRequest,
  connectRequest,
  createRequest,
  replaceRequest,
  runRequest,
  changesRequest,
  definitionRequest,
  referencesRequest,
  diagnosticsRequest,
  editorsRequest,
  listRequest,
  whereRequest,
  openRequest,
  readRequest,
  explainRequest,
  findRequest,
];

/** Longer than any request, without what is in quotes; a match over more of it could take long. */
const LONGEST = 1000;

/** The script for a request; one for what is not understood as the last resort. */
function requests(asked: Asked, scene: GuideContext): Script {
  if (asked.masked.length > LONGEST) return notUnderstood(asked, scene);
  return planRequest(understood).match(asked, scene) ?? understood(asked, scene) ?? notUnderstood(asked, scene);
}

function understood(asked: Asked, scene: GuideContext): Script | undefined {
  for (const request of simple) {
    const script = request.match(asked, scene);
    if (script) return script;
  }
  return undefined;
}
