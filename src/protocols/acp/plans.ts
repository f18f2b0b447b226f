import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { PlanEntry } from '../../session/model.ts';
import { toContent } from './content.ts';
import type { KeyedPlan, WirePlanEntry } from './schema.ts';

/** The plans of a session: one without a name, or several with one (acp.md §7). They are shown as one list, in the order they came up. */
export class Plans {
  readonly #plans = new Map<string, readonly PlanEntry[]>();

  replace(entries: readonly WirePlanEntry[]): SessionEvent {
    return this.#set('', entries.flatMap(toEntry));
  }

  update(plan: KeyedPlan): SessionEvent {
    switch (plan.type) {
      case 'items':
        return this.#set(plan.planId, plan.entries.flatMap(toEntry));
      case 'markdown':
        return this.#set(plan.planId, listItems(plan.content));
      case 'file': {
        const file = toContent({ type: 'resource_link', uri: plan.uri, name: plan.uri });
        return this.#set(plan.planId, [{ text: t('Plan: {0}', file.type === 'file' ? file.path : plan.uri), status: 'pending' }]);
      }
    }
  }

  remove(planId: string): SessionEvent {
    return this.#set(planId, []);
  }

  #set(key: string, entries: readonly PlanEntry[]): SessionEvent {
    if (entries.length === 0) this.#plans.delete(key);
    else this.#plans.set(key, entries);
    const all = [...this.#plans.values()].flat();
    return { type: 'plan.set', plan: all.length === 0 ? null : { entries: all } };
  }
}

/** What was called off is not part of the plan any more. */
function toEntry({ content, status, priority }: WirePlanEntry): readonly PlanEntry[] {
  if (status === 'cancelled') return [];
  return [
    {
      text: content,
      status: status === 'completed' || status === 'in_progress' ? status : 'pending',
      ...(priority === 'high' || priority === 'medium' || priority === 'low' ? { priority } : {}),
    },
  ];
}

/** The list items of a text; where there are none, its lines. */
function listItems(markdown: string): readonly PlanEntry[] {
  const lines = markdown.split(/\r?\n/).filter((line) => line.trim() !== '');
  const items = lines.flatMap((line) => {
    const [, box, text] = /^\s*(?:[-*+]|\d+[.)])\s+(?:\[([ xX~-])\]\s+)?(.+)$/.exec(line) ?? [];
    return text === undefined ? [] : [{ text, box }];
  });
  if (items.length === 0) return lines.map((text) => ({ text, status: 'pending' }));
  return items.map(({ text, box }) => ({
    text,
    status: box === 'x' || box === 'X' ? 'completed' : box === '~' ? 'in_progress' : 'pending',
  }));
}
