import * as z from 'zod/mini';
import { id, listOf, marker, meta, soft, softText, text } from '../lenient.ts';
import {
  type ConfigOption,
  contentBlock,
  contentItem,
  type InitializeAnswer,
  optionValue,
  type PermissionRequest,
  permissionRequest,
  type SessionAnswer,
  sessionAnswer,
  type ToolContent,
  terminalItem,
  toolCall,
  type WireCall,
} from '../schema.ts';
import { diffItems } from './patches.ts';

/** What agents send over version 2 of the protocol, a draft, brought into the form of version 1 (acp.md §14). */

const change = z.object({ operation: text, path: id, oldPath: soft(id) });
const diff = z.object({
  type: z.literal('diff'),
  changes: listOf(change),
  patch: soft(z.object({ format: text, text })),
});
const contentPiece = z.pipe(
  z.union([contentItem, diff, terminalItem]),
  z.transform((item): readonly ToolContent[] => (item.type === 'diff' ? diffItems(item) : [item])),
);
const callContent = z.pipe(
  listOf(contentPiece),
  z.transform((pieces) => pieces.flat()),
);

/** What of it the user may steer; of a wrong shape it is nothing, null takes it away, absent is unchanged. */
const controls = z.pipe(
  z.catch(z.nullish(z.object({ cancel: marker })), null),
  z.transform((given): boolean | undefined => (given === undefined ? undefined : Boolean(given?.cancel))),
);

/** Null takes away what was said before; what is absent is unchanged. */
export const call = z.pipe(
  z.extend(z.omit(toolCall, { content: true }), { content: soft(callContent), capabilities: controls }),
  z.transform(
    ({ capabilities: stops, title, name, kind, status, content, locations, rawInput, rawOutput, ...rest }): WireCall => ({
      ...rest,
      stops,
      title,
      name,
      kind: kind === null ? 'other' : kind,
      status: status === null ? 'pending' : status,
      content: content === null ? [] : content,
      locations: locations === null ? [] : locations,
      rawInput,
      rawOutput,
      unset: Object.entries({ title, name, rawInput, rawOutput }).flatMap(([key, value]) =>
        value === null ? [key as 'title' | 'name' | 'rawInput' | 'rawOutput'] : [],
      ),
    }),
  ),
);
export const callChunk = z.object({ toolCallId: id, content: contentPiece });

export const message = z.object({ messageId: id, content: soft(listOf(contentBlock)) });
const bytes = soft(z.object({ data: text }));
const exitStatus = soft(z.object({ exitCode: soft(z.number()), signal: softText }));
export const terminal = z.object({ terminalId: id, command: softText, output: bytes, exitStatus, capabilities: controls });
export const terminalChunk = z.object({ terminalId: id, data: text });

const optionHead = { configId: id, name: text, description: softText, category: softText };
const group = z.pipe(
  z.object({ groupId: text, name: text, options: listOf(optionValue) }),
  z.transform(({ groupId, ...rest }) => ({ group: groupId, ...rest })),
);
const values = listOf(z.union([group, optionValue]));
const configOption = z.pipe(
  z.discriminatedUnion('type', [
    z.object({ ...optionHead, type: z.literal('select'), currentValue: text, options: values }),
    z.object({ ...optionHead, type: z.literal('boolean'), currentValue: z.boolean() }),
  ]),
  z.transform(({ configId, ...option }): ConfigOption => ({ ...option, id: configId })),
);
export const configOptions2 = listOf(configOption);
export const sessionAnswer2 = z.pipe(
  z.extend(z.omit(sessionAnswer, { configOptions: true, modes: true, models: true }), { configOptions: soft(configOptions2) }),
  z.transform((answer): SessionAnswer => answer),
);

const command = z.object({ command: text, cwd: text, toolCallId: soft(id) });
export const permission2 = z.pipe(
  z.extend(z.omit(permissionRequest, { toolCall: true }), {
    title: text,
    description: softText,
    subject: soft(
      z.union([
        z.object({ type: z.literal('tool_call'), toolCall: call }),
        z.extend(command, { type: z.literal('command') }),
        z.object({ type: text }),
      ]),
    ),
  }),
  z.transform(({ subject, title, description, ...rest }): PermissionRequest => {
    const head = { ...rest, title, ...(description ? { description } : {}) };
    if (subject && 'toolCall' in subject) return { ...head, toolCall: subject.toolCall };
    if (!subject || !('command' in subject)) return head;
    const { command, cwd, toolCallId } = subject;
    return { ...head, command: { command, cwd }, ...(toolCallId == null ? {} : { toolCall: { toolCallId } as WireCall }) };
  }),
);

const authMethod = z.object({
  methodId: id,
  name: text,
  description: softText,
  type: text,
  args: soft(z.array(text)),
  env: soft(listOf(z.object({ name: text, value: text }))),
  _meta: meta,
});
const capabilities = z.object({
  session: soft(
    z.object({
      prompt: soft(z.object({ image: marker, audio: marker, embeddedContext: marker })),
      mcp: soft(z.object({ stdio: marker, http: marker })),
      delete: marker,
      fork: marker,
      additionalDirectories: marker,
    }),
  ),
});
/** The hello of version 2 in the members of version 1. Listing, resuming and closing are always there, logging out where there is a login. */
export const initializeAnswer2 = z.pipe(
  z.object({
    protocolVersion: z.number(),
    info: soft(z.object({ name: text, title: softText, version: softText })),
    capabilities: soft(capabilities),
    authMethods: soft(listOf(authMethod)),
  }),
  z.transform(({ protocolVersion, info, capabilities: caps, authMethods }): InitializeAnswer => {
    const session = caps?.session;
    return {
      protocolVersion,
      agentInfo: info,
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: session?.prompt,
        mcpCapabilities: { http: session?.mcp?.http, stdio: session?.mcp?.stdio ?? false },
        sessionCapabilities: {
          list: true,
          resume: true,
          close: true,
          delete: session?.delete,
          fork: session?.fork,
          additionalDirectories: session?.additionalDirectories,
        },
        auth: { logout: (authMethods?.length ?? 0) > 0 },
      },
      authMethods: authMethods?.map(({ methodId, env, ...method }) => ({
        ...method,
        id: methodId,
        env: env && Object.fromEntries(env.map(({ name, value }) => [name, value])),
      })),
    };
  }),
);
