import type { Session, ToolCall, Turn } from './model.ts';
import { callsOf, callTitle } from './select.ts';

/* Calls that an agent ran without asking because of an answer that it keeps by itself. */

/** An answer of the user that its agent keeps. */
interface StandingAnswer {
  /** The answer in the agent's words. */
  readonly label: string;
  readonly covers: (call: ToolCall) => boolean;
}
type Found = ReadonlyMap<ToolCall, string>;

/** Answers of one conversation that are compared with its later calls. */
const MOST_KEPT = 50;
/** UTF-16 units of a command and of a label that are compared. */
const LONGEST = 1000;

/** True for the name of an answer about all that a tool does, whatever the command is that it may name. */
export function namesAll(label: string, command: string): boolean {
  const words = label.slice(0, LONGEST).replaceAll(command, '');
  return /\b(?:all|any|every\w*)\b|全部|所有/i.test(words.replace(/"[^"]*"|“[^”]*”|`[^`]*`/g, ''));
}

const none: Found = new Map();
/** Findings in a turn, after so many answers of the turns before it. */
const known = new WeakMap<Turn, { readonly before: number; readonly kept: readonly StandingAnswer[]; readonly found: Found }>();

/**
 * The calls that no question came for after the user had allowed the very same from then on, each with that answer in the agent's words. How far an
 * agent takes an answer is its own affair: only what its words name counts, and the same command or tool again.
 */
export function allowedEarlier({ turns, cwd }: Pick<Session, 'turns' | 'cwd'>): Found {
  let before: readonly StandingAnswer[] = [];
  let all: Found = none;
  for (const turn of turns) {
    let { kept, found } = known.get(turn) ?? { kept: [], found: none };
    if (known.get(turn)?.before !== before.length) {
      ({ kept, found } = lookThrough(callsOf(turn), before, cwd));
      known.set(turn, { before: before.length, kept, found });
    }
    before = kept.length === 0 ? before : [...before, ...kept].slice(0, MOST_KEPT);
    if (found.size > 0) all = all.size === 0 ? found : new Map([...all, ...found]);
  }
  return all;
}

/** The answer to one of these calls, in the agent's words, after which the agent would run a command without asking; undefined where none names it. */
export function commandAllowedEarlier(calls: readonly ToolCall[], cwd: string, command: string): string | undefined {
  for (const call of calls) {
    const kept = call.kind === 'execute' ? standingAnswerTo(call, cwd) : undefined;
    if (kept?.covers({ ...call, input: { command: command.trim() } })) return kept.label;
  }
  return undefined;
}

function lookThrough(calls: readonly ToolCall[], before: readonly StandingAnswer[], cwd: string) {
  const kept: StandingAnswer[] = [];
  const found = new Map<ToolCall, string>();
  for (const call of calls) {
    const answer = standingAnswerTo(call, cwd);
    if (answer) kept.push(answer);
    else if (call.decision === undefined && call.status !== 'pending' && call.status !== 'waiting') {
      const because = [...before, ...kept].find((one) => one.covers(call));
      if (because) found.set(call, because.label);
    }
  }
  return { kept, found };
}

function standingAnswerTo(call: ToolCall, cwd: string): StandingAnswer | undefined {
  const { decision } = call;
  if (decision?.kind !== 'approval' || decision.by !== 'user' || decision.effect !== 'allow_always') return undefined;
  const label = (decision.label ?? '').slice(0, LONGEST);
  const { kind, name } = call;
  // Files and addresses differ from call to call.
  const command = commandOf(call, cwd);
  const isWhole = name !== '' && (namesAll(label, command) || kind === 'other');
  if (isWhole) return { label, covers: (other) => other.kind === kind && other.name === name };
  if (kind !== 'execute') return undefined;
  const start = namedStart(label, command);
  return { label, covers: (other) => other.kind === 'execute' && isSame(command, start, commandOf(other, cwd)) };
}

function isSame(command: string, start: string | undefined, other: string): boolean {
  if (command === '' || other === '') return false;
  return other === command || (start !== undefined && !/[;&|<>`$()\n]/.test(other) && `${other} `.startsWith(`${start} `));
}

/** The words that the label names as the beginning of commands: `touch *`, `npm run:*`, or commands that start with them in quotes. */
function namedStart(label: string, command: string): string | undefined {
  const words = command.split(' ');
  for (let count = Math.min(words.length, 6); count > 0; count -= 1) {
    const start = words.slice(0, count).join(' ');
    const at = label.indexOf(start);
    const isOpen = /^(?: |:)\*/.test(label.slice(at + start.length));
    const isQuoted = /\b(?:start|begin)s? with ["“`]$/.test(label.slice(0, at));
    if (at >= 0 && (isOpen || isQuoted)) return start;
  }
  return undefined;
}

function commandOf(call: ToolCall, cwd: string): string {
  const { input } = call;
  const members = typeof input === 'object' && input !== null ? (input as Readonly<Record<string, unknown>>) : {};
  const given = [members.command, members.cmd, members.script].find((one) => typeof one === 'string');
  const text = typeof given === 'string' ? given : callTitle(call, cwd);
  return text.length > LONGEST ? '' : text.trim();
}
