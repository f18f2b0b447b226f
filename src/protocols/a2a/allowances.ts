import path from 'node:path';
import { t } from '../../base/l10n.ts';
import type { ApprovalDetail, SessionOption } from '../../session/model.ts';
import type { Choice, Snapshot } from './snapshot.ts';

/**
 * What the user allowed for the rest of the conversation, where the agent itself would not keep to it (a2a.md §9.3): the same tool with the
 * same command, file or question. Each is one of the session's options, to be seen and taken back.
 */
export class Allowances {
  readonly #given = new Map<string, { readonly id: string; readonly title: string }>();
  #count = 0;
  readonly #cwd: string;
  readonly #changed: () => void;
  /** Tools of ours that change nothing, by `server/tool`: the agent need not wait for a user. */
  readonly #ours: ReadonlySet<string>;

  constructor(cwd: string, ours: ReadonlySet<string>, changed: () => void) {
    this.#cwd = cwd;
    this.#ours = ours;
    this.#changed = changed;
  }

  add(call: Snapshot): void {
    this.#count += 1;
    this.#given.set(memoryKey(call), { id: `allowed:${this.#count}`, title: call.title });
    this.#changed();
  }

  /** The answer that was given before, undefined when a user has to be asked. Nothing is remembered for files outside the folder. */
  answerTo(call: Snapshot): Choice | undefined {
    const detail = call.request?.detail;
    const options = call.request?.options ?? [];
    if (detail?.type === 'mcp' && this.#ours.has(`${detail.server}/${detail.tool}`))
      return options.find((one) => one.effect === 'allow_once');
    if (!this.#given.has(memoryKey(call))) return undefined;
    if (detail?.type === 'edit' && this.isOutside(detail)) return undefined;
    return options.find((one) => one.remembered);
  }

  /** It would change a file, or run a command, outside the folder that is worked in. */
  isOutside(detail: ApprovalDetail): boolean {
    if (detail.type === 'edit') return detail.diffs.some((diff) => diff.path !== '' && !this.#isInside(diff.path));
    return detail.type === 'command' && detail.cwd !== undefined && !this.#isInside(detail.cwd, true);
  }

  /** Takes one back. False when that is no option of ours. */
  revoke(optionId: string): boolean {
    const [key] = [...this.#given].find(([, one]) => one.id === optionId) ?? [];
    if (key === undefined) return false;
    this.#given.delete(key);
    this.#changed();
    return true;
  }

  get options(): readonly SessionOption[] {
    return [...this.#given.values()].map(({ id, title }) => ({
      kind: 'switch',
      id,
      name: t('Always allowed: {0}', title),
      description: t('Turn it off to be asked again.'),
      on: true,
    }));
  }

  #isInside(file: string, orItself = false): boolean {
    const below = path.relative(this.#cwd, path.resolve(this.#cwd, file));
    return (below !== '' || orItself) && !below.startsWith('..') && !path.isAbsolute(below);
  }
}

/** What a remembered allowance covers: the same tool with the same command, file or question. */
function memoryKey(call: Snapshot): string {
  const detail = call.request?.detail;
  const about =
    detail?.type === 'command'
      ? detail.command
      : detail?.type === 'edit'
        ? detail.diffs.map((diff) => diff.path).join('\n')
        : JSON.stringify(call.input ?? null);
  return `${call.name}\n${about}`;
}
