import type { Dialect } from './dialect.ts';
import { permissionRequest, sessionAnswer, update } from './schema.ts';

/** Version 1, which nearly every agent speaks. */
export const v1: Dialect = {
  version: 1,
  authenticate: 'authenticate',
  logout: 'logout',
  sessionAnswer,
  permission: permissionRequest,
  lendsEditor: true,
  promptAnswersAtEnd: true,
  messagesStay: false,
  readUpdate: (news) => {
    const parsed = update.safeParse(news);
    return parsed.success ? parsed.data : undefined;
  },
  server: ({ how, ...server }) => (how === 'http' ? { type: 'http', ...server } : server),
  goOn: ({ key, history }, can) => {
    const silent = can.resume && (!history || !can.load);
    return { method: silent ? 'session/resume' : 'session/load', more: { sessionId: key }, replays: !silent };
  },
  optionValue: (value) => (typeof value === 'boolean' ? { type: 'boolean', value } : { value }),
};
