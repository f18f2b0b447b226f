import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';

/** The official JSON schema of the protocol, as the published SDK carries it: what we send is held against it. */

type Defs = Readonly<Record<string, unknown>>;

function validators(folder: string, file: string) {
  const source = path.resolve('node_modules/@agentclientprotocol/sdk/schema', folder, file);
  const { $defs } = JSON.parse(readFileSync(source, 'utf8')) as { readonly $defs: Defs };
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
  const id = `acp-${folder}-${file}`;
  ajv.addSchema({ $id: id, $defs });
  return (name: string) => ajv.getSchema(`${id}#/$defs/${name}`);
}
const stable = validators('v1', 'schema.json');
const unstable = validators('v1', 'schema.unstable.json');
const draft = validators('v2', 'schema.json');
const unstableDraft = validators('v2', 'schema.unstable.json');

const requests: Readonly<Record<string, string>> = {
  initialize: 'InitializeRequest',
  authenticate: 'AuthenticateRequest',
  logout: 'LogoutRequest',
  'session/new': 'NewSessionRequest',
  'session/load': 'LoadSessionRequest',
  'session/resume': 'ResumeSessionRequest',
  'session/list': 'ListSessionsRequest',
  'session/close': 'CloseSessionRequest',
  'session/delete': 'DeleteSessionRequest',
  'session/fork': 'ForkSessionRequest',
  'session/prompt': 'PromptRequest',
  'session/set_mode': 'SetSessionModeRequest',
  'session/set_config_option': 'SetSessionConfigOptionRequest',
  'session/cancel': 'CancelNotification',
  '$/cancel_request': 'CancelRequestNotification',
};
/** What version 2 calls differently. */
const requests2: Readonly<Record<string, string>> = {
  ...requests,
  'auth/login': 'LoginAuthRequest',
  'auth/logout': 'LogoutAuthRequest',
  'tool_call/cancel': 'CancelToolCallRequest',
  'terminal/cancel': 'CancelTerminalRequest',
  'session/cancel': 'CancelSessionNotification',
};
const answers: Readonly<Record<string, string>> = {
  'session/request_permission': 'RequestPermissionResponse',
  'fs/read_text_file': 'ReadTextFileResponse',
  'fs/write_text_file': 'WriteTextFileResponse',
  'terminal/create': 'CreateTerminalResponse',
  'terminal/output': 'TerminalOutputResponse',
  'terminal/wait_for_exit': 'WaitForTerminalExitResponse',
  'terminal/kill': 'KillTerminalResponse',
  'terminal/release': 'ReleaseTerminalResponse',
  'elicitation/create': 'CreateElicitationResponse',
};
/** Gone from every schema, still taken by agents (acp.md §16). */
const unlisted = new Set(['session/set_model']);

export function problemOfRequest(method: string, params: unknown, version = 1): string | undefined {
  if (unlisted.has(method)) return undefined;
  // Both versions are offered in one hello.
  if (method === 'initialize' && version === 2)
    return problem(requests[method], method, params) ?? problem2(requests2[method], method, params);
  return version === 2 ? problem2(requests2[method], method, params) : problem(requests[method], method, params);
}

export function problemOfAnswer(method: string, result: unknown, version = 1): string | undefined {
  return (version === 2 ? problem2 : problem)(answers[method], method, result);
}

/** What the schema of version 2 has against something the agent of a test says. */
export function problemOfDraft(name: string, value: unknown): string | undefined {
  return problem2(name, name, value);
}

/** What the unstable schema has against something the agent of a test says. */
export function problemOfUnstable(name: string, value: unknown): string | undefined {
  return heldAgainst(unstable(name), name, value);
}

const agentSays: Readonly<Record<string, string>> = {
  'session/update': 'SessionNotification',
  'session/request_permission': 'RequestPermissionRequest',
  'fs/read_text_file': 'ReadTextFileRequest',
  'fs/write_text_file': 'WriteTextFileRequest',
  'terminal/create': 'CreateTerminalRequest',
  'terminal/output': 'TerminalOutputRequest',
  'terminal/wait_for_exit': 'WaitForTerminalExitRequest',
  'terminal/kill': 'KillTerminalRequest',
  'terminal/release': 'ReleaseTerminalRequest',
  'elicitation/create': 'CreateElicitationRequest',
};

/** What the schema has against a request or notification of either side, as a trace keeps it. Tool servers are left out of traces. */
export function problemOfFrame({ way, message }: { readonly way: 'in' | 'out'; readonly message: unknown }): string | undefined {
  const { method, params } = message as { readonly method?: unknown; readonly params?: unknown };
  if (typeof method !== 'string') return undefined;
  return way === 'out' ? problemOfRequest(method, params) : problem(agentSays[method], method, params);
}

function problem(name: string | undefined, method: string, value: unknown): string | undefined {
  return heldAgainst(name === undefined ? undefined : (stable(name) ?? unstable(name)), method, value);
}

function problem2(name: string | undefined, method: string, value: unknown): string | undefined {
  return heldAgainst(name === undefined ? undefined : (draft(name) ?? unstableDraft(name)), method, value);
}

function heldAgainst(check: ReturnType<typeof stable>, method: string, value: unknown): string | undefined {
  if (!check) return `${method}: the schema knows no such message`;
  return check(value) ? undefined : `${method}: ${JSON.stringify(check.errors)} in ${JSON.stringify(value)}`;
}
