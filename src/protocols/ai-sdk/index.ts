import { randomUUID } from 'node:crypto';
import type { OfferedTool } from '../../conversation/state.ts';
import type { Adapter, AdapterContext, Launch, Protocol } from '../adapter.ts';
import { Driver } from '../driver.ts';
import { readText } from '../fileNow.ts';
import type { Tool } from '../ports.ts';
import { notEncrypted, UnencryptedConsent } from '../unencrypted.ts';
import { aiSdkMachine } from './machine.ts';
import { ChatServer, type HttpLaunch, type Memory, serversOf } from './server.ts';
import { type AiSdkSetup, type AiSdkTiming, newAiSdk, TIMING } from './state.ts';

const memory: Memory = new Map();

/** Chat servers that speak the AI SDK's UI message stream, versions 5 to 7, with tools that run in the editor. */
export const aiSdk: Protocol = {
  title: 'AI SDK',
  launch: 'http',
  open(launch, context) {
    if (launch.kind !== 'http') throw new Error('An AI SDK server is reached by an address.');
    return openAiSdk(launch, context, memory);
  },
};

/** A conversation with one server. Tests give a memory and a timing of their own. */
export function openAiSdk(launch: HttpLaunch, context: AdapterContext, known: Memory = new Map(), timing: AiSdkTiming = TIMING): Adapter {
  const plainText = new UnencryptedConsent(context);
  const server = new ChatServer(launch, { ...context, launch: agreedLaunch(launch, context, plainText) }, known);
  const { past = [] } = context;
  const last = context.resume && !context.resume.isPrompted ? past.at(-1) : undefined;
  // Failures here have a code: a turn without one ended with its window.
  const wasInterrupted = last?.status === 'failed' && last.error?.code === undefined;
  const setup: AiSdkSetup = {
    name: context.name ?? null,
    cwd: launch.cwd,
    tools: context.ports.tools.map(offered),
    fileTools: (context.ports.remoteFileTools ?? []).map(offered),
    timing,
    problems: server.problems,
    interrupted:
      last && wasInterrupted ? { id: last.id, prompt: last.prompt, hasCalls: last.parts.some((part) => part.kind === 'call') } : null,
  };
  const chatId = context.resume?.key ?? randomUUID();
  const { settings, mayHaveKey, learned } = server;
  const state = newAiSdk(randomUUID(), { chatId, setup, settings, mayHaveKey, learned: { ...learned }, past });
  const driver = new Driver(aiSdkMachine, state, {
    now: context.now,
    emit: context.emit,
    log: context.log,
    links: { chat: server.openChat },
    ports: {
      server: server.port,
      secret: server.keepKey,
      tool: server.runTool,
      file: ({ path }: { readonly path: string }) => readText(context.ports.files, path, [launch.cwd]),
    },
  });
  const dispose = () => driver.feed({ on: 'leave' });
  context.signal.addEventListener('abort', dispose, { once: true });
  const start = async () => {
    const refused = await refusedServer(launch, plainText);
    if (refused === undefined) return driver.feed({ on: 'start' });
    if (context.signal.aborted) return;
    const reason = notEncrypted(refused.host);
    context.emit({ type: 'link.closed', reason, next: ['restart', 'openSettings'], at: context.now() });
    dispose();
  };
  // The caller does not have the adapter yet.
  queueMicrotask(() => void start());
  return {
    ended: driver.ended.then(() => {
      context.signal.removeEventListener('abort', dispose);
      server.dispose();
    }),
    send: (intent) => {
      if (intent.type === 'answer' && plainText.answer(intent.askId, intent.answer)) return;
      driver.feed({ on: 'intent', intent });
    },
    dispose,
  };
}

/** The first server of a profile that the user does not agree to speak to unencrypted. */
async function refusedServer(launch: HttpLaunch, plainText: UnencryptedConsent): Promise<URL | undefined> {
  for (const server of serversOf(launch)) if (!(await plainText.mayUse(server))) return server;
  return undefined;
}

/** The profile as it reads now. Rejects where the user does not agree to a new address: the server then stays the one that it was. */
function agreedLaunch(first: Launch, { launch }: AdapterContext, plainText: UnencryptedConsent): () => Promise<Launch> {
  return async () => {
    const now = (await launch?.()) ?? first;
    const refused = now.kind === 'http' ? await refusedServer(now, plainText) : undefined;
    if (refused) throw new Error(notEncrypted(refused.host));
    return now;
  };
}

function offered({ name, description, parameters }: Tool): OfferedTool {
  return { name, description, parameters };
}
