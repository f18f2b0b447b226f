import { randomBytes, randomUUID } from 'node:crypto';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { messageOf } from '../base/log.ts';
import { endOwnedGroups } from '../transport/ownedGroups.ts';
import { stdioChannel } from '../transport/stdio.ts';
import { localize } from './locale.ts';
import { guideModel } from './models/guide/guideModel.ts';
import type { ModelEndpoint, Sampling } from './models/model.ts';
import { type Model, ModelError } from './models/model.ts';
import { type AgentArguments, readOptions, usage } from './options.ts';
import { dialectOf } from './servers/kimi-wire/codec.ts';
import { serveWire } from './servers/kimi-wire/serve.ts';
import { type QwenOptions, readQwenOptions, startQwen } from './servers/qwen/start.ts';
import { lastSession, SessionStore, sessionHome } from './sessionStore.ts';
import { NAME, VERSION } from './version.ts';
import { isFolder } from './workspace/paths.ts';

const BAD_USAGE = 2;

/** Longest wait for a turn to end when the client has gone. */
const PATIENCE_MS = 3000;

function main(): void {
  let options: AgentArguments;
  try {
    const structured = readQwenOptions(process.argv.slice(2));
    if (structured) return serveStructured(structured);
    options = readOptions(process.argv.slice(2), process.cwd());
  } catch (error) {
    refuse(messageOf(error));
    return;
  }
  const dialect = dialectOf(options.wireVersion);
  const serve = Object.hasOwn(servers, options.protocol) ? servers[options.protocol] : undefined;
  if (!serve) return refuse(`There is no protocol '${options.protocol}'; known are ${Object.keys(servers).join(', ')}`);
  if (!dialect) return refuse(`There is no Wire ${options.wireVersion}`);
  if (options.command === 'help') process.stdout.write(usage);
  else if (options.command === 'version') process.stdout.write(`${NAME} ${VERSION}\n`);
  else if (options.command === 'info') process.stdout.write(infoText(options, dialect.name));
  else if (!isFolder(options.workDir)) refuse(`${options.workDir} is not a folder`);
  else serve(options);
}

/** The protocols served, by the name given to --protocol. */
const servers: Readonly<Record<string, (options: AgentArguments) => void>> = {
  'kimi-wire': serveWireOnStdio,
  'ai-sdk': (options) => void serveAiSdk(options),
  acp: (options) => void serveAcpOnStdio(options),
  a2a: (options) => void serveA2aAgent(options),
};

/**
 * The token that every request to a server needs: other accounts of this computer reach its port, too. Without a given one, this program makes one and prints it.
 * Commands do not inherit it.
 */
function accessToken(): { readonly token: string; readonly announcement: string } {
  const given = process.env.PARLEY_AGENT_TOKEN?.trim() ?? '';
  delete process.env.PARLEY_AGENT_TOKEN;
  if (given !== '') return { token: given, announcement: '' };
  const token = randomBytes(32).toString('base64url');
  return { token, announcement: `Token: ${token}\n` };
}

async function serveAiSdk(options: AgentArguments): Promise<void> {
  const { token, announcement } = accessToken();
  try {
    const { serveChats } = await import('./servers/ai-sdk/serve.ts');
    const served = await serveChats({
      model: modelOf(options),
      workspace: { cwd: options.workDir, roots: [options.workDir, ...options.addDirs] },
      preferences: options.preferences,
      port: options.port,
      origins: options.origins,
      token,
    });
    endWithSignals(served);
    process.stdout.write(`Listening on ${served.url}\n${announcement}`);
  } catch (error) {
    refuse(messageOf(error));
  }
}

async function serveA2aAgent(options: AgentArguments): Promise<void> {
  const { token, announcement } = accessToken();
  const editor = process.env.PARLEY_MCP_URL?.trim() ?? '';
  try {
    const { serveA2a } = await import('./servers/a2a/serve.ts');
    const { toolServer } = await import('./servers/a2a/toolServer.ts');
    const served = await serveA2a({
      model: modelOf(options),
      workspace: { cwd: options.workDir, roots: [options.workDir, ...options.addDirs] },
      preferences: options.preferences,
      port: options.port,
      token,
      origins: options.origins,
      ...(editor === '' ? {} : { editor: toolServer({ name: 'editor', url: editor, asksItself: true }) }),
    });
    endWithSignals(served);
    // An editor that starts it looks for the name of the variable.
    process.stdout.write(`Listening on ${served.url} (token in PARLEY_AGENT_TOKEN)\n${announcement}`);
  } catch (error) {
    refuse(messageOf(error));
  }
}

function serveWireOnStdio(options: AgentArguments): void {
  const dialect = dialectOf(options.wireVersion);
  if (!dialect) return;
  // Standard output belongs to the protocol, whatever a library may want to print.
  console.log = console.info = console.debug = console.error;
  const channel = stdioChannel(process.stdin, process.stdout);
  const home = sessionHome(process.env);
  const served = serveWire({
    channel,
    dialect,
    silent: options.wireSilent,
    liveOutput: options.liveOutput,
    model: modelOf(options),
    store: new SessionStore(home, options.workDir, sessionId(options, home)),
    workspace: { cwd: options.workDir, roots: [options.workDir, ...options.addDirs] },
    ...options.preferences,
    allowAll: options.allowAll,
    plan: options.plan,
  });
  const end = endWithSignals(served);
  channel.onClosed(() => end(0));
  process.stdout.on('error', () => end(0));
}

/** Its libraries are read only when it is wanted: the others start sooner without them. */
async function serveAcpOnStdio(options: AgentArguments): Promise<void> {
  const { serveAcp } = await import('./servers/acp/serve.ts');
  console.log = console.info = console.debug = console.error;
  const channel = stdioChannel(process.stdin, process.stdout);
  const end = endWithSignals(
    serveAcp({ channel, model: modelOf(options), home: sessionHome(process.env), preferences: options.preferences }),
  );
  channel.onClosed(() => end(0));
  process.stdout.on('error', () => end(0));
}

/** Qwen's structured input and output, and plain text (docs/protocols/qwen.md). */
function serveStructured(options: QwenOptions): void {
  console.log = console.info = console.debug = console.error;
  const cwd = path.resolve(options.workDir ?? '.');
  if (!isFolder(cwd)) return refuse(`${cwd} is not a folder`);
  const started = startQwen({
    options,
    model: modelOf(options),
    modelFor: (name, sampling) => {
      const model = modelOf({ model: name ?? options.model }, sampling);
      return model.offline ? undefined : model;
    },
    workspace: { cwd, roots: [cwd, ...options.addDirs.map((folder) => path.resolve(folder))] },
    home: sessionHome(process.env),
    // Output goes through `print`, because the answer to the last line comes after our input has ended.
    channel: () => stdioChannel(process.stdin, new PassThrough()),
    readAll: () => text(process.stdin),
    print: (words) => void process.stdout.write(words),
    exit: (code) => {
      process.stdout.write('', () => process.exit(code));
    },
  });
  if (!started) process.exitCode = 1;
  else if (!started.channel) void started.end(0);
  else {
    const end = endWithSignals(started);
    // The running turn is finished first, as Qwen Code does, unless the client has stopped reading.
    started.channel.onClosed(() => void started.end(0).then(() => end(0)));
    process.stdout.on('error', () => end(0));
  }
}

/** Signals end what is served and then the process; so does calling what comes back. */
function endWithSignals(served: { end(code: number): Promise<void> }): (code: number) => void {
  let ending = false;
  const end = (code: number): void => {
    if (ending) return;
    ending = true;
    const leave = (): never => {
      endOwnedGroups();
      process.exit(code);
    };
    setTimeout(leave, PATIENCE_MS).unref();
    void served.end(code).then(() => process.stdout.end(leave), leave);
    process.stdout.on('error', leave);
  };
  process.on('SIGTERM', () => end(143));
  process.on('SIGINT', () => end(130));
  process.on('SIGHUP', () => end(129));
  process.on('uncaughtException', (error) => {
    process.stderr.write(`parley-agent: ${error.stack ?? error.message}\n`);
  });
  process.on('unhandledRejection', (error) => {
    process.stderr.write(`parley-agent: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  });
  return end;
}

/** A name alone names no service: other clients pass one to every agent. */
function modelOf({ model }: Pick<AgentArguments, 'model'>, sampling?: Sampling): Model {
  const { env } = process;
  return chooseModel(model === undefined || !env.PARLEY_MODEL_BASE_URL?.trim() ? env : { ...env, PARLEY_MODEL_NAME: model }, sampling);
}

function sessionId({ session, workDir }: AgentArguments, home: string): string {
  if (session === 'new') return randomUUID();
  return session === 'last' ? (lastSession(home, workDir) ?? randomUUID()) : session.id;
}

function infoText(options: AgentArguments, wireVersion: string): string {
  // The member names are those of the program this protocol comes from; clients read the last one.
  const info = { name: NAME, kimi_cli_version: VERSION, agent_spec_versions: ['1'], wire_protocol_version: wireVersion };
  if (options.json) return `${JSON.stringify(info)}\n`;
  return `${NAME} ${VERSION}\nWire: ${wireVersion}\n`;
}

function refuse(problem: string): void {
  process.stderr.write(`parley-agent: ${problem}\n\n${usage}`);
  process.exitCode = BAD_USAGE;
}

const DEFAULT_CONTEXT = 128_000;

/** Returns the model that the environment names, else the offline guide. An incompletely configured model only reports the problem. */
function chooseModel(env: NodeJS.ProcessEnv, sampling?: Sampling): Model {
  const baseUrl = env.PARLEY_MODEL_BASE_URL?.trim() ?? '';
  const name = env.PARLEY_MODEL_NAME?.trim() ?? '';
  if (baseUrl === '' && name === '') return guideModel;
  if (baseUrl === '') return noModel(name, 'PARLEY_MODEL_BASE_URL', 'parley.model.baseUrl');
  if (name === '') return noModel(baseUrl, 'PARLEY_MODEL_NAME', 'parley.model.name');
  const context = Number(env.PARLEY_MODEL_CONTEXT);
  const apiKey = env.PARLEY_MODEL_API_KEY?.trim() ?? '';
  return lazyModel({
    baseUrl,
    name,
    contextSize: context >= 1000 ? Math.floor(context) : DEFAULT_CONTEXT,
    ...(apiKey === '' ? {} : { apiKey }),
    ...(sampling ? { sampling } : {}),
  });
}

function noModel(given: string, variable: string, setting: string): Model {
  const message = localize(
    `No model is configured: ${given} is given, but ${variable} is missing (the setting ${setting}).`,
    `未配置模型：已给出 ${given}，但缺少 ${variable}（设置项 ${setting}）。`,
  );
  return {
    name: '',
    contextSize: DEFAULT_CONTEXT,
    offline: false,
    // biome-ignore lint/correctness/useYield: there is no answer
    answer: async function* () {
      throw new ModelError('no_model', message);
    },
  };
}

/**
 * The SDK is a bundle of its own beside this one, loaded with the first answer: reading it takes longer than everything else at the start, and
 * the handshake must not wait for it.
 */
function lazyModel(endpoint: ModelEndpoint): Model {
  return {
    name: endpoint.name,
    contextSize: endpoint.contextSize,
    offline: false,
    answer: async function* (request, signal) {
      const sdk: typeof import('./models/openaiCompatible.ts') = require(path.join(__dirname, 'parley-agent-model.js'));
      yield* sdk.answerFrom(endpoint, request, signal);
    },
  };
}

main();
