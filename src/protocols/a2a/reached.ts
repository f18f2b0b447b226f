import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Platform } from '../../base/fileName.ts';
import { isForeign, platform, realPathNow } from '../paths.ts';
import { fileOf } from './calls.ts';
import type { Peer } from './card.ts';
import { meaningOf, toIncoming } from './codec.ts';
import type { Credentials } from './credentials.ts';
import type { Rpc } from './http.ts';
import { isRecord } from './schema.ts';
import type { ExtensionFolder } from './server.ts';
import type { FileOfCall } from './state.ts';
import type { Webhook } from './webhook.ts';

/** An agent that was found. */
export interface ReachedAgent {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly address: string;
  readonly peer: Peer;
  readonly rpc: Rpc;
  readonly credentials: Credentials;
  readonly files: CallFiles;
  readonly webhook?: Webhook;
  readonly folder?: ExtensionFolder;
}
/** The files of the shipped server's calls, as they are at a call's first report, before any decision about it. */
export class CallFiles {
  readonly #seen = new Set<string>();
  readonly #folders: readonly string[];
  readonly #system: Platform;

  constructor(folders: readonly string[], system = platform) {
    this.#folders = folders;
    this.#system = system;
  }

  /** Of calls that this result reports first. */
  in(result: unknown): readonly FileOfCall[] {
    if (!holdsCall(result)) return NONE;
    const record = toIncoming(result);
    return (record ? meaningOf(record) : []).flatMap((said) => {
      if (said.type !== 'call' || said.dialect !== 'gemini' || said.call.status === 'done' || this.#seen.has(said.call.id)) return [];
      const file = fileOf(said.call);
      if (file === undefined || !path.isAbsolute(file) || file.includes('\0')) return [];
      if (isForeign(file, this.#folders, this.#system)) return [];
      this.#seen.add(said.call.id);
      // The server says an empty text before for a file that is not there, too.
      return [{ call: said.call.id, isNew: !existsSync(file), real: realPathNow(file) }];
    });
  }
}
const NONE: readonly FileOfCall[] = [];

/** A quick look before a record is decoded for this: is there a call of the shipped server in it? */
function holdsCall(result: unknown): boolean {
  const status = isRecord(result) ? (isRecord(result.statusUpdate) ? result.statusUpdate.status : result.status) : undefined;
  const message = isRecord(status) ? status.message : undefined;
  const parts = isRecord(message) && Array.isArray(message.parts) ? (message.parts as readonly unknown[]) : NONE;
  for (const part of parts) if (isRecord(part) && isRecord(part.data) && isRecord(part.data.request)) return true;
  return false;
}
