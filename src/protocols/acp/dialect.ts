import type * as z from 'zod/mini';
import type { Resume } from '../adapter.ts';
import type { PermissionRequest, SessionAnswer, Update } from './schema.ts';

/** A tool server as our door offers it. */
export type LentServer =
  | { readonly how: 'http'; readonly name: string; readonly url: string; readonly headers: readonly Pair[] }
  | {
      readonly how: 'process';
      readonly name: string;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: readonly Pair[];
    };
export interface Pair {
  readonly name: string;
  readonly value: string;
}

/** What the versions of the protocol say differently. Behind it there is one form of everything (acp.md §14). */
export interface Dialect {
  readonly version: number;
  readonly authenticate: string;
  readonly logout: string;
  readonly sessionAnswer: z.ZodMiniType<SessionAnswer>;
  readonly permission: z.ZodMiniType<PermissionRequest>;
  /** The client's files and terminals are the agent's to use. */
  readonly lendsEditor: boolean;
  /** A prompt is answered when the turn has ended; otherwise at once, and an update tells the end. */
  readonly promptAnswersAtEnd: boolean;
  /** A message is one message whatever comes in between. */
  readonly messagesStay: boolean;
  /** undefined: a kind this build does not know, or one that cannot be read. */
  readUpdate(update: object): Update | undefined;
  server(server: LentServer): object;
  /** How a conversation is gone on with; `replays`: the agent's record of it comes as updates. */
  goOn(
    resume: Resume,
    can: { readonly load: boolean; readonly resume: boolean },
  ): { readonly method: string; readonly more: object; readonly replays: boolean };
  /** The value of an option as it is set. */
  optionValue(value: string | boolean): object;
}
