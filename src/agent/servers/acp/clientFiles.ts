import { ToolFailure } from '../../tools/tool.ts';
import type { Place } from '../../workspace/paths.ts';
import { diskFiles, encodeText, isReadable, textFileOf } from '../../workspace/textFile.ts';
import type { TextFiles } from '../../workspace/textFiles.ts';

/** Which of its text files the client lends. */
export interface FilesCan {
  readonly reads: boolean;
  readonly writes: boolean;
}

const NOT_FOUND = -32002;

/**
 * The client's text files (acp.md §10.1, §10.2): what is unsaved in its editor is read, and what is written there goes on with it. What lies
 * outside of the workspace the user has been asked about already, and the client would ask once more: that is the disk's.
 */
export function clientFiles(ask: (method: string, params: object) => Promise<unknown>, can: FilesCan): TextFiles {
  return {
    read: async (place, name) => {
      if (!can.reads || !place.inside) return diskFiles.read(place, name);
      await isReadable(place.real, name);
      try {
        const { content } = (await ask('fs/read_text_file', { path: place.path })) as { readonly content?: unknown };
        if (typeof content !== 'string') throw new Error('The client answered without a text.');
        return textFileOf(content);
      } catch (error) {
        if ((error as { readonly code?: unknown }).code === NOT_FOUND) return undefined;
        throw refused(`${name} could not be read`, error);
      }
    },
    write: async (place: Place, text, like) => {
      if (!can.writes || !place.inside) return diskFiles.write(place, text, like);
      try {
        await ask('fs/write_text_file', { path: place.path, content: encodeText(text, { ...like, bom: false }) });
      } catch (error) {
        throw refused(`${place.path} was not written`, error);
      }
    },
  };
}

function refused(what: string, error: unknown): ToolFailure {
  return new ToolFailure(`${what}: ${error instanceof Error ? error.message : String(error)}`);
}
