// node plainServer.mjs NODE_MODULES PORT: an agent on the A2A project's own server library, 0.3 or 1.0, that knows no extension.
// It answers `hello` with words in pieces, asks back for `ask me`, and works until it is cancelled for `slow`, whatever stands before.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, wantedPort] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(folder, file)).href);
const sdk = await load('@a2a-js/sdk/dist/server/index.js');
const web = await load('@a2a-js/sdk/dist/server/express/index.js');
const express = createRequire(path.join(folder, 'x.js'))('express');
const newer = sdk.AgentEvent !== undefined;

/** The same in both versions: what is said here is 0.3. */
const states = { submitted: 1, working: 2, completed: 3, canceled: 5, 'input-required': 6 };
const message = (text) => ({
  messageId: randomUUID(),
  role: newer ? 2 : 'agent',
  parts: [part(text)],
  ...(newer ? {} : { kind: 'message' }),
});
const part = (value) =>
  newer ? { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' } : { kind: 'text', text: value };
const status = (state, text) => ({
  state: newer ? states[state] : state,
  timestamp: new Date().toISOString(),
  ...(text ? { message: message(text) } : {}),
});
const say = {
  task: (bus, ids, history) => {
    const task = { id: ids.taskId, contextId: ids.contextId, status: status('submitted'), history, artifacts: [] };
    bus.publish(newer ? sdk.AgentEvent.task(task) : { kind: 'task', ...task });
  },
  status: (bus, ids, state, final, text) => {
    const update = { ...ids, status: status(state, text) };
    bus.publish(newer ? sdk.AgentEvent.statusUpdate(update) : { kind: 'status-update', final, ...update });
  },
  artifact: (bus, ids, text, append) => {
    const update = { ...ids, append, lastChunk: append, artifact: { artifactId: 'a', name: '', description: '', parts: [part(text)] } };
    bus.publish(newer ? sdk.AgentEvent.artifactUpdate(update) : { kind: 'artifact-update', ...update });
  },
};
const textOf = ({ parts }) => parts.map((one) => one.text ?? one.content?.value ?? '').join('');
const stops = new Map();

const executor = {
  execute: async ({ taskId, contextId, userMessage, task }, bus) => {
    const ids = { taskId, contextId };
    if (!task) say.task(bus, ids, [userMessage]);
    // 1.0 wants a task first, whatever is known of it.
    else if (newer) bus.publish(sdk.AgentEvent.task(task));
    const asked = textOf(userMessage);
    say.status(bus, ids, 'working', false);
    if (asked.endsWith('slow')) {
      say.status(bus, ids, 'working', false, 'At it. ');
      await new Promise((resolve) => stops.set(taskId, resolve));
      say.status(bus, ids, 'canceled', true);
    } else if (asked.endsWith('ask me')) say.status(bus, ids, 'input-required', true, 'Which colour?');
    else {
      say.artifact(bus, ids, `Heard ${JSON.stringify(asked)}: `, false);
      say.artifact(bus, ids, 'plain words.', true);
      say.status(bus, ids, 'completed', true);
    }
    bus.finished();
  },
  cancelTask: async (taskId) => stops.get(taskId)?.(),
};

const app = express();
const server = app.listen(Number(wantedPort ?? 0), '127.0.0.1', () => {
  const { port } = server.address();
  const url = `http://127.0.0.1:${port}/`;
  const about = {
    name: 'Plain',
    description: 'Says things',
    version: '1',
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  };
  const card = newer
    ? {
        ...about,
        supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
        capabilities: { streaming: true, pushNotifications: false, extensions: [] },
        securitySchemes: {},
        securityRequirements: [],
        signatures: [],
      }
    : { ...about, url, protocolVersion: '0.3.0', capabilities: { streaming: true } };
  const requestHandler = new sdk.DefaultRequestHandler(card, new sdk.InMemoryTaskStore(), executor);
  const userBuilder = web.UserBuilder.noAuthentication;
  app.use('/.well-known/agent-card.json', web.agentCardHandler({ agentCardProvider: requestHandler }));
  app.use(web.jsonRpcHandler({ requestHandler, userBuilder }));
  console.log(`Listening on ${url}`);
});
