import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { extractReasoningMiddleware, jsonSchema, streamText, type TextStreamPart, type ToolSet, tool, wrapLanguageModel } from 'ai';
import { HttpClient } from '../../transport/http.ts';
import { localize } from '../locale.ts';
import { CallsInOrder } from './callsInOrder.ts';
import type { Endpoint } from './endpoint.ts';
import { httpFetch } from './httpFetch.ts';
import type { ModelPiece, ModelRequest, ToolOffer } from './model.ts';
import { modelFailure } from './modelFailure.ts';
import { messagesOf } from './modelMessages.ts';

// The SDK would write its warnings to the console.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** One answer of an OpenAI-compatible service. Tries once: trying again is the loop's business. Throws ModelError. */
export async function* answerFrom(endpoint: Endpoint, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPiece> {
  signal.throwIfAborted();
  const client = new HttpClient();
  try {
    const provider = createOpenAICompatible({
      name: 'model',
      baseURL: endpoint.baseUrl.replace(/\/+$/, ''),
      includeUsage: true,
      fetch: httpFetch(client),
      ...(endpoint.apiKey === undefined ? {} : { apiKey: endpoint.apiKey }),
    });
    const { fullStream } = streamText({
      // Local models often write their thoughts into the text, between tags.
      model: wrapLanguageModel({ model: provider(endpoint.name), middleware: extractReasoningMiddleware({ tagName: 'think' }) }),
      system: request.system,
      messages: messagesOf(request.history),
      tools: toolsOf(request.tools),
      ...endpoint.sampling,
      maxRetries: 0,
      abortSignal: signal,
      onError: () => {},
    });
    const calls = new CallsInOrder();
    for await (const part of fullStream) yield* piecesOf(part, calls);
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    throw modelFailure(error, endpoint);
  } finally {
    client.dispose();
  }
}

const cutShort = {
  length: () => localize('The answer was cut at the length the service allows.', '回答达到服务允许的长度上限，已被截断。'),
  'content-filter': () => localize('The service withheld the rest of the answer.', '服务没有给出回答的其余部分。'),
} as const;

function* piecesOf(part: TextStreamPart<ToolSet>, calls: CallsInOrder): Generator<ModelPiece> {
  switch (part.type) {
    case 'text-delta':
      yield { type: 'text', text: part.text };
      return;
    case 'reasoning-delta':
      yield { type: 'thought', text: part.text };
      return;
    case 'tool-input-start':
      yield* calls.begin(part.id, part.toolName);
      return;
    case 'tool-input-delta':
      yield* calls.grow(part.id, part.delta);
      return;
    case 'tool-call':
      yield* calls.end(part.toolCallId, part.toolName, part.input, part.providerMetadata);
      return;
    case 'finish-step': {
      const why = part.finishReason === 'length' || part.finishReason === 'content-filter' ? part.finishReason : undefined;
      if (why !== undefined) yield { type: 'text', text: `\n\n*${cutShort[why]()}*` };
      const { inputTokens = 0, outputTokens = 0, inputTokenDetails } = part.usage;
      if (inputTokens + outputTokens > 0) {
        yield { type: 'used', usage: { input: inputTokens, cached: inputTokenDetails?.cacheReadTokens ?? 0, output: outputTokens } };
      }
      return;
    }
    case 'error':
      throw part.error;
  }
}

/** Declared without a way to run: the loop runs them. */
function toolsOf(offers: readonly ToolOffer[]): ToolSet {
  return Object.fromEntries(
    offers.map(({ name, description, parameters }) => [name, tool({ description, inputSchema: jsonSchema<unknown>({ ...parameters }) })]),
  );
}
