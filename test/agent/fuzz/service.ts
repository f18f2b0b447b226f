import http from 'node:http';
import type { AddressInfo } from 'node:net';

type Call = { readonly name: string; readonly input: object };

/** What the model does for a prompt of this text; for every other it says "ok". */
const CALLS: Readonly<Record<string, readonly Call[]>> = {
  'fuzz: edit': [{ name: 'WriteFile', input: { path: 'made.txt', content: 'x' } }],
  'fuzz: command': [{ name: 'Shell', input: { command: 'echo x > made.txt' } }],
  'fuzz: question': [
    { name: 'AskUserQuestion', input: { questions: [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }] } },
  ],
  'fuzz: tool': [{ name: 'lent_tool', input: { path: 'a' } }],
  'fuzz: sub-agent': [{ name: 'Agent', input: { description: 'sub', prompt: 'fuzz: edit' } }],
};

/** An OpenAI-compatible service whose answer depends on nothing but the last message, so that junk between two prompts does not matter. */
export async function startFuzzService(): Promise<{ readonly url: string; readonly stop: () => void }> {
  const server = http.createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
    });
    request.on('end', () => {
      const said = lastSaid(text);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const give = (choice: object): void => {
        const chunk = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'fuzz', choices: [{ index: 0, ...choice }] };
        response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      };
      if (said === 'fuzz: hang') return give({ delta: { content: 'And then' } });
      const calls = CALLS[said] ?? [];
      for (const [index, { name, input }] of calls.entries()) {
        const call = { index, id: '', type: 'function', function: { name, arguments: JSON.stringify(input) } };
        give({ delta: { tool_calls: [call] } });
      }
      if (calls.length === 0) give({ delta: { content: 'ok' } });
      give({ delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' });
      response.end('data: [DONE]\n\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}/v1`, stop };
}

function lastSaid(body: string): string {
  const { messages } = JSON.parse(body) as { readonly messages: readonly { readonly role: string; readonly content: unknown }[] };
  const last = messages.at(-1);
  return last?.role === 'user' ? textOf(last.content) : '';
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((part: { readonly text?: unknown }) => String(part.text ?? '')).join('') : '';
}
