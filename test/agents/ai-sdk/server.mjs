// A chat server made with the `ai` package of a peer folder: node server.mjs FOLDER. POST /api/chat re-posts, POST /held/chat holds its
// stream open until /held/chat/tool-result has the result. GET /asked gives the bodies it got.
import http from 'node:http';
import { Readable } from 'node:stream';
import { aiOf } from './library.mjs';
import { mockOptions } from './mockModel.mjs';

const folder = process.argv[2];
const { ai, testing, Model, version } = await aiOf(folder);
const asked = [];
const waiting = new Map();
const any = ai.jsonSchema({ type: 'object', properties: {} });

function serverTools() {
  return {
    weather: ai.tool({
      description: 'The weather.',
      inputSchema: ai.jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
      execute: async ({ city }) => ({ city, sky: 'clear' }),
    }),
    explode: ai.tool({
      description: 'Fails.',
      inputSchema: any,
      execute: async () => {
        throw new Error('secret reason');
      },
    }),
    progress: ai.tool({
      description: 'Takes its time.',
      inputSchema: any,
      async *execute() {
        yield { done: 1 };
        yield { done: 2 };
      },
    }),
    ...(version === 5
      ? {}
      : {
          delete_file: ai.tool({
            description: 'Deletes.',
            inputSchema: any,
            needsApproval: true,
            execute: async ({ path }) => `deleted ${path}`,
          }),
        }),
  };
}

/** The client's tools: without execute the stream ends at their calls; with one it waits for the endpoint. */
function clientTools(declared, held) {
  return Object.fromEntries(
    Object.entries(declared ?? {}).map(([name, { description, parameters }]) => [
      name,
      ai.tool({
        description,
        inputSchema: ai.jsonSchema(parameters),
        ...(held
          ? { execute: (_input, { toolCallId }) => new Promise((resolve, reject) => waiting.set(toolCallId, { resolve, reject })) }
          : {}),
      }),
    ]),
  );
}

async function chat(body, held, signal) {
  const messages = await ai.convertToModelMessages(body.messages);
  const result = ai.streamText({
    model: new Model(mockOptions(version, testing.simulateReadableStream)),
    messages,
    tools: { ...serverTools(), ...clientTools(body.tools, held) },
    stopWhen: (ai.stepCountIs ?? ai.isStepCount)(5),
    abortSignal: signal,
    onError: () => {},
    ...(version === 5 ? {} : { experimental_toolApprovalSecret: 'the secret of this server, long enough to sign' }),
  });
  return result.toUIMessageStreamResponse({
    originalMessages: body.messages,
    generateMessageId: () => `msg-${asked.length}`,
    messageMetadata: ({ part }) => (part.type === 'finish' ? { totalTokens: 7 } : undefined),
  });
}

function result({ tool_call_id, result, is_error }, response) {
  const one = waiting.get(tool_call_id);
  waiting.delete(tool_call_id);
  response.writeHead(one ? 200 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ ok: one !== undefined }));
  if (is_error) one?.reject(new Error(result));
  else one?.resolve(result);
}

const server = http.createServer(async (request, response) => {
  const stop = new AbortController();
  response.once('close', () => stop.abort());
  try {
    if (request.url === '/asked') return response.end(JSON.stringify(asked));
    if (request.method !== 'POST') {
      response.writeHead(204);
      return response.end();
    }
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    if (request.url.endsWith('/tool-result')) return result(body, response);
    asked.push(body);
    const answer = await chat(body, request.url.startsWith('/held'), stop.signal);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    Readable.fromWeb(answer.body).pipe(response);
  } catch (error) {
    response.writeHead(500, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: String(error) }));
  }
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.on('unhandledRejection', () => {});
