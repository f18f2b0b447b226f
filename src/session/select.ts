import type { Approval, Ask, CallId, Diff, Location, Part, Session, Terminal, ToolCall, Turn } from './model.ts';

/** Derived reads. Nothing here is stored. */

export function runningTurn(session: Session): Turn | undefined {
  return session.turns.findLast((turn) => turn.status === 'running');
}

export function isBusy(session: Session): boolean {
  return runningTurn(session) !== undefined;
}

export function findAsk(session: Session, id: string): Ask | undefined {
  return session.asks.find((ask) => ask.id === id);
}

export function openApprovals(session: Session): readonly Approval[] {
  return session.asks.filter((ask) => ask.kind === 'approval');
}

export function callsOf(turn: Turn): readonly ToolCall[] {
  return turn.parts.flatMap((part) => (part.kind === 'call' ? [part.call] : []));
}

export function findCall(session: Session, id: CallId): ToolCall | undefined {
  for (const turn of session.turns.toReversed()) {
    const call = callsOf(turn).find((one) => one.id === id);
    if (call) return call;
  }
  return undefined;
}

/** The parts directly under a sub-agent's call, or those under none. */
export function partsUnder(turn: Turn, parent: CallId | undefined): readonly Part[] {
  return turn.parts.filter((part) => part.parent === parent);
}

/** The diffs a call shows, in order. */
export function diffsOf(call: ToolCall): readonly Diff[] {
  return call.output.flatMap((output) => (output.kind === 'diff' ? [output.diff] : []));
}

export interface ChangedFile {
  readonly path: string;
  /** Every diff of the path, oldest first. */
  readonly diffs: readonly Diff[];
}

/** Files changed by finished calls of a turn, in the order they were first changed. */
export function changedFiles(turn: Turn): readonly ChangedFile[] {
  return byPath(callsOf(turn).flatMap((call) => (call.status === 'done' ? diffsOf(call) : [])));
}

/** Diffs put together by the file they change, in the order the files come first. */
export function byPath(diffs: readonly Diff[]): readonly ChangedFile[] {
  const files = new Map<string, Diff[]>();
  for (const diff of diffs) {
    const known = files.get(diff.path);
    if (known) known.push(diff);
    else files.set(diff.path, [diff]);
  }
  return [...files].map(([path, list]) => ({ path, diffs: list }));
}

/** Where the agent works now: the last location of the last running call. */
export function locationToFollow(session: Session): Location | undefined {
  const turn = runningTurn(session);
  return (
    turn &&
    callsOf(turn)
      .findLast((call) => call.status === 'running' && call.locations.length > 0)
      ?.locations.at(-1)
  );
}

export function runningTerminals(session: Session): readonly Terminal[] {
  return Object.values(session.terminals).filter((terminal) => terminal.exit === undefined);
}

/**
 * What an ask is called: with the file it is about, and never the text of the command that stands below anyway; `running` says in the
 * person's language that a command is to be run.
 */
export function askTitle(ask: Ask, cwd: string, running: string): string {
  if (ask.kind !== 'approval') return ask.title;
  const { detail, title } = ask;
  if (detail.type === 'command') return title.trim() === detail.command.trim() || /^\w*$/.test(title) ? running : title;
  if (detail.type !== 'edit') return title;
  const [first, ...others] = new Set(detail.diffs.map((diff) => diff.path));
  if (first === undefined || title.includes(first.split(/[\\/]/).at(-1) ?? first)) return title;
  return `${title}: ${relativePath(first, cwd)}${others.length > 0 ? ` +${others.length}` : ''}`;
}

/** A path for people: relative to the session's folder when it lies inside. */
export function relativePath(path: string, cwd: string): string {
  const base = cwd.replace(/[\\/]$/, '');
  return base !== '' && path.startsWith(base) && /^[\\/]/.test(path.slice(base.length)) ? path.slice(base.length + 1) : path;
}

/** What to call a session in lists: its title, or the beginning of its first prompt. */
export function titleOf(session: Session, longest = 60): string {
  if (session.title) return session.title;
  for (const content of session.turns[0]?.prompt ?? []) {
    if (content.type !== 'text') continue;
    const line = content.text.trim().split('\n', 1)[0] ?? '';
    if (line) return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
  }
  return '';
}
