import { isUtf8 } from 'node:buffer';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLog } from '../../../src/base/log.ts';
import { ChangeSet, type FileEffects } from '../../../src/live/review/changeSet.ts';
import { ContentStore } from '../../../src/live/review/contentStore.ts';
import { usualLimits } from '../../../src/live/review/scan.ts';
import { mergedWithEnds } from '../../../src/session/merge.ts';
import { hunksOfSegments, type PlacedHunk } from '../../../src/session/segments.ts';

/** A folder, an agent that writes straight to the disk, and an editor that may hold unsaved text. */
export class Scene {
  readonly root = mkdtempSync(path.join(tmpdir(), 'review-'));
  readonly state = mkdtempSync(path.join(tmpdir(), 'review-state-'));
  readonly unsaved = new Map<string, string>();
  /** Further folders of the workspace. */
  others: readonly string[] = [];
  readonly store = new ContentStore(path.join(this.state, 'objects'));
  readonly effects: { -readonly [K in keyof FileEffects]: FileEffects[K] } = {
    readText: async (file) => {
      const bytes = existsSync(file) ? readFileSync(file) : null;
      return this.unsaved.get(file) ?? (bytes && !isUtf8(bytes) ? undefined : (bytes?.toString() ?? null));
    },
    writeText: async (file, text, from) => {
      // The editor tells of it first, as for an agent's write.
      const typed = this.unsaved.get(file);
      if (typed !== undefined) void this.changes.userSaved(file, typed);
      const merged = mergedWithEnds(typed ?? readFileSync(file, 'utf8'), from, text);
      if (merged === undefined) throw new Error('changed meanwhile');
      writeFileSync(file, merged);
      this.unsaved.delete(file);
    },
    hasUnsaved: (file) => this.unsaved.has(file),
    folders: () => this.others,
  };
  changes = this.reload();

  /** As the next window finds it. */
  reload(limits = usualLimits): ChangeSet {
    const deps = { store: this.store, effects: this.effects, log: silentLog, limits };
    this.changes = new ChangeSet(this.root, path.join(this.state, 's.json'), deps);
    return this.changes;
  }
  path(name: string): string {
    return path.join(this.root, name);
  }
  write(files: Readonly<Record<string, string | Uint8Array>>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(this.path(name)), { recursive: true });
      writeFileSync(this.path(name), text);
    }
  }
  read(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }
  /** A turn in which the agent does that. */
  async turn(id: string, act: () => void | Promise<void>): Promise<void> {
    await this.changes.startTurn(id);
    await act();
    await this.changes.look();
    await this.changes.look(undefined, true);
  }
  async hunks(name: string): Promise<readonly PlacedHunk[]> {
    return hunksOfSegments((await this.changes.segments(this.path(name))) ?? []);
  }
  get names(): readonly string[] {
    return this.changes.files.map((file) => `${file.kind} ${file.name}`);
  }
}

export function inScene(run: (scene: Scene) => Promise<void>): () => Promise<void> {
  return async () => {
    const scene = new Scene();
    try {
      await run(scene);
    } finally {
      for (const folder of [scene.root, scene.state]) rmSync(folder, { recursive: true });
    }
  };
}

export const lines = (...words: readonly string[]): string => `${words.join('\n')}\n`;
export const numbered = (count: number, change: (at: number) => string | undefined = () => undefined): string =>
  lines(...Array.from({ length: count }, (_, at) => change(at) ?? `line ${at}`));
