// A chat server made with Mastra: node mastraServer.mjs FOLDER. The agent's tools are a server tool, one that needs approval, and whatever
// the client lends.
import http from 'node:http';
import { Readable } from 'node:stream';
import { aiOf, load } from './library.mjs';
import { mockOptions } from './mockModel.mjs';

const folder = process.argv[2];
const { testing, Model, version } = await aiOf(folder);
const { Agent } = await load(folder, '@mastra/core/agent');
const { createTool } = await load(folder, '@mastra/core/tools');
const { Mastra } = await load(folder, '@mastra/core');
const { InMemoryStore } = await load(folder, '@mastra/core/storage').catch(() => ({}));
const bridge = await load(folder, '@mastra/ai-sdk');
const { createUIMessageStreamResponse } = await load(folder, 'ai');
const { z } = await load(folder, 'zod');

const agent = new Agent({
  id: 'helper',
  name: 'helper',
  instructions: 'Help.',
  model: new Model(mockOptions(version, testing.simulateReadableStream)),
  tools: {
    weather: createTool({
      id: 'weather',
      description: 'The weather.',
      inputSchema: z.object({ city: z.string() }),
      execute: async () => ({ sky: 'clear' }),
    }),
    delete_file: createTool({
      id: 'delete_file',
      description: 'Deletes.',
      inputSchema: z.object({ path: z.string() }),
      requireApproval: true,
      execute: async () => ({ deleted: true }),
    }),
  },
});
const mastra = new Mastra({ agents: { helper: agent }, logger: false, ...(InMemoryStore ? { storage: new InMemoryStore() } : {}) });

const server = http.createServer(async (request, response) => {
  try {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method !== 'POST') return response.writeHead(204).end();
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    if (pathname !== '/api/chat') return response.writeHead(404).end();
    const params = JSON.parse(Buffer.concat(chunks).toString());
    const stream = await bridge.handleChatStream({ mastra, agentId: 'helper', params, version: searchParams.get('version') ?? 'v5' });
    const answer = createUIMessageStreamResponse({ stream });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    Readable.fromWeb(answer.body).pipe(response);
  } catch (error) {
    console.error(error);
    response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ error: String(error) }));
  }
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.on('unhandledRejection', (error) => console.error(error));
