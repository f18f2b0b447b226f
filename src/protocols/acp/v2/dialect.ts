import type { Dialect } from '../dialect.ts';
import { type Update, update } from '../schema.ts';
import { call, callChunk, configOptions2, message, permission2, sessionAnswer2, terminal, terminalChunk } from './schema.ts';

/** Version 2, a draft: offered where a profile says so. */
export const v2: Dialect = {
  version: 2,
  authenticate: 'auth/login',
  logout: 'auth/logout',
  sessionAnswer: sessionAnswer2,
  permission: permission2,
  lendsEditor: false,
  promptAnswersAtEnd: false,
  messagesStay: true,
  readUpdate: (news) => {
    const kind = (news as { readonly sessionUpdate?: unknown }).sessionUpdate;
    const own = typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
    if (own) return own(news);
    const parsed = update.safeParse(news);
    return parsed.success ? parsed.data : undefined;
  },
  server: ({ how, ...server }) => ({ type: how === 'http' ? 'http' : 'stdio', ...server }),
  goOn: ({ key, history }) => ({
    method: 'session/resume',
    more: { sessionId: key, ...(history ? { replayFrom: { type: 'start' } } : {}) },
    replays: history,
  }),
  optionValue: (value) => ({ type: typeof value === 'boolean' ? 'boolean' : 'id', value }),
};

/** The kinds that say something else than in version 1, or are new. */
const kinds: Readonly<Record<string, (news: object) => Update | undefined>> = {
  user_message: (news) => whole('prompt', news),
  agent_message: (news) => whole('text', news),
  agent_thought: (news) => whole('thought', news),
  tool_call_update: (news) => {
    const parsed = call.safeParse(news);
    return parsed.success ? { sessionUpdate: 'tool_call_update', ...parsed.data } : undefined;
  },
  tool_call_content_chunk: (news) => {
    const parsed = callChunk.safeParse(news);
    return parsed.success
      ? { sessionUpdate: 'tool_call_update', toolCallId: parsed.data.toolCallId, added: parsed.data.content }
      : undefined;
  },
  config_option_update: (news) => {
    const parsed = configOptions2.safeParse((news as { readonly configOptions?: unknown }).configOptions);
    return parsed.success ? { sessionUpdate: 'config_option_update', configOptions: parsed.data } : undefined;
  },
  terminal_update: (news) => {
    const parsed = terminal.safeParse(news);
    if (!parsed.success) return undefined;
    const { terminalId, command, output, exitStatus, capabilities: stops } = parsed.data;
    return {
      sessionUpdate: 'terminal',
      terminalId,
      command: command ?? undefined,
      output: output === null ? '' : output?.data,
      stops,
      exit: exitStatus ? { code: exitStatus.exitCode ?? null, signal: exitStatus.signal ?? null } : undefined,
    };
  },
  terminal_output_chunk: (news) => {
    const parsed = terminalChunk.safeParse(news);
    return parsed.success ? { sessionUpdate: 'terminal', ...parsed.data } : undefined;
  },
};

function whole(kind: 'text' | 'thought' | 'prompt', news: object): Update | undefined {
  const parsed = message.safeParse(news);
  if (!parsed.success) return undefined;
  const { messageId, content } = parsed.data;
  return { sessionUpdate: 'message', kind, messageId, content: content === null ? [] : content };
}
