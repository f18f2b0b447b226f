import { t } from '../base/l10n.ts';
import type { Content, Session } from '../session/model.ts';
import type { ClosedLink } from '../session/select.ts';
import { type AsideDeps, type AsideFailure, converseAside, whenFound } from './asideRequest.ts';
import type { Profile } from './profiles.ts';

/** The outcome of one step of a check: a few words, and the remedy where it failed. */
export type Finding = { readonly ok: true; readonly ms: number } | AsideFailure;

export interface AgentCheck {
  /** The agent is started, has shaken hands, and wants no sign-in. */
  readonly connection: Promise<Finding>;
  /** Its model answers. */
  readonly model: Promise<Finding>;
  /** Ends the agent. */
  end(): void;
}

const PROMPT: readonly Content[] = [{ type: 'text', text: 'Reply with the word OK.' }];

/**
 * Starts an agent apart from all sessions and asks its model for one word. It gets no tools, and nothing that it asks is allowed. `patience` settles when
 * the model has had its time.
 */
export function checkAgent(profile: Profile, cwd: string, deps: AsideDeps & { readonly patience: () => Promise<void> }): AgentCheck {
  const { newId, now, log, patience } = deps;
  const session = converseAside(profile, cwd, deps);
  const until = (finding: (state: Session, began: number) => Finding | undefined): Promise<Finding> => {
    const began = now();
    return whenFound(session, (state) => finding(state, began));
  };
  const connection = until((state, began) => connectionOf(state, now() - began));
  const model = connection.then((found) => {
    if (!found.ok) return found;
    session.send({ type: 'prompt', turnId: newId(), content: PROMPT });
    const silent = patience().then((): Finding => ({ ok: false, reason: t('The agent does not answer.'), next: ['showLog'] }));
    return Promise.race([until((state, began) => modelOf(state, now() - began)), silent]);
  });
  // The log, to which a failure leads, has what the program said at its end.
  void connection.then((found) => {
    const { link } = session.store.now;
    if (!found.ok) log.warn([`${profile.name}: ${found.reason}`, link.state === 'closed' ? link.detail : ''].filter(Boolean).join('\n'));
  });
  void session.start();
  return { connection, model, end: () => session.dispose() };
}

function connectionOf({ link, asks }: Session, ms: number): Finding | undefined {
  const [ask] = asks;
  if (ask) return { ok: false, reason: ask.title, next: ['signIn'] };
  if (link.state === 'closed') return endOf(link);
  return link.state === 'ready' ? { ok: true, ms } : undefined;
}

/** Why the program has ended, with its last words: most say there what they lack. */
function endOf({ reason, detail, next = [] }: ClosedLink): AsideFailure {
  const lastLine = detail?.trim().split('\n').at(-1)?.trim();
  return { ok: false, reason, ...(lastLine ? { lastLine } : {}), next };
}

/** The finding about the model: a call or an ask proves that it answers. A text may be the program's own words about what failed, until its turn ends well. */
function modelOf({ turns, asks, link }: Session, ms: number): Finding | undefined {
  const turn = turns.at(-1);
  if (turn?.error) return { ok: false, reason: turn.error.message, next: turn.error.next ?? [] };
  if (link.state === 'closed') return endOf(link);
  const [ask] = asks;
  if (ask?.kind === 'question') return { ok: false, reason: ask.title, next: ['signIn'] };
  if (!turn) return undefined;
  return ask || turn.status === 'done' || turn.parts.some(({ kind }) => kind === 'call') ? { ok: true, ms } : undefined;
}
