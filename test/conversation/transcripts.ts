import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { uriOfPath } from '../../src/base/paths.ts';
import type { Effect, Input, Machine } from '../../src/conversation/machine.ts';
import type { Quirk } from '../../src/conversation/quirk.ts';
import type { ConversationState } from '../../src/conversation/state.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Approval, Ask } from '../../src/session/model.ts';
import { assertNoRuleAllows, isAllowedBy } from '../attack/names.ts';

/*
 * Transcripts: what happens to a machine, and everything it wants done, in order.
 *
 *   # a title, which is unique in its protocol
 *   = {"history":true}                    what the protocol's `start` is given; left out: {}
 *   > prompt t "go"                       an input
 *   < turn t                              an effect; one ending in … is compared up to there
 *
 * A folder holds files, a file holds cases, and each case begins with its `#` line. Cases that do not begin with `> start` begin with the inputs
 * that `start` names. Each case runs twice: straight, and with the state passed through JSON before every step. WRITE=1 writes what the machine
 * wants into the file; read every line before you keep it. `test/protocols/transcripts.test.ts` runs the cases of all protocols, in one process.
 *
 * Inputs: start · leave · cancel · prompt ID "text" · steer ID "text" · answer ASK [OPTION] · answer ASK {fields} · intent {…} ·
 * message [LINK] METHOD {…} · asks ID METHOD {…} · withdrawn ID · junk TEXT · reply CALL {…} · refused CALL {"code":…,"message":…} ·
 * at MILLISECONDS (the clock, which stands at 0) · lost CALL "why" · unsent CALL "why" · closed [LINK] {"reason":…} · timer NAME. A protocol adds its own shorthands.
 */

export interface TranscriptProtocol<S extends ConversationState> {
  /** Before each title. */
  readonly name: string;
  /** The folder with the cases. */
  readonly folder: string;
  readonly machine: Machine<S>;
  /** The state a case starts from, and the inputs before it; `setup` is its `=` line. */
  readonly start: (setup: Readonly<Record<string, unknown>>) => { readonly state: S; readonly inputs: readonly (string | Input)[] };
  /** The link that is meant when a line names none. */
  readonly link: string;
  /** The protocol's own inputs, by their first word. `value` is the JSON at the end of the line, `name` what stands before it. */
  readonly inputs?: Readonly<Record<string, (name: string, value: unknown) => Input>>;
  /** Shorter words for an effect; undefined leaves it to `describe`, null leaves it out. */
  readonly describe?: (effect: Effect) => string | null | undefined;
}
interface Case {
  readonly file: string;
  readonly title: string;
  readonly setup: Readonly<Record<string, unknown>>;
  readonly lines: readonly string[];
}

/** Defines a test for each case, and one for what holds of every machine and no case can show. */
export function testTranscripts<S extends ConversationState>(protocol: TranscriptProtocol<S>): void {
  const { name, folder } = protocol;
  const cases = casesIn(folder);
  if (process.env.WRITE) {
    for (const file of new Set(cases.map((one) => one.file))) {
      const texts = cases.filter((one) => one.file === file).map((one) => written(protocol, one));
      writeFileSync(path.join(folder, file), `${texts.join('\n\n')}\n`);
    }
    test(`${name}: transcripts are written, not tested`, () => assert.fail('Run again without WRITE'));
    return;
  }
  test(`${name}: left before it has started it is over, and opens nothing afterwards`, () => {
    const { state } = protocol.start({});
    const left = protocol.machine(state, { on: 'leave' }, 0);
    assert.deepEqual(
      left.filter((effect) => effect.do === 'open' || effect.do === 'request'),
      [],
    );
    assert.equal(state.phase, 'over');
    assert.deepEqual(protocol.machine(state, { on: 'start' }, 0), []);
  });
  for (const one of cases) {
    test(`${name} ${one.file}: ${one.title}`, () => {
      check(protocol, one, false);
      check(protocol, one, true);
    });
  }
}

/** Fails where a title stands twice, or a quirk names none. */
export function assertTitles({ folder }: { readonly folder: string }, quirks: readonly Quirk[]): void {
  const titles = casesIn(folder).map(({ title }) => title);
  assert.deepEqual(
    titles.filter((title, at) => titles.indexOf(title) !== at),
    [],
  );
  assert.deepEqual(
    quirks.filter(({ transcript }) => !titles.includes(transcript)),
    [],
  );
}

/**
 * Asks about the edit of a transcript with another name of the file each time: no rule answers for a name that misleads. `file` is its path or URI
 * there, directly in the session's folder; `byRule`: a rule can allow such an edit at all.
 */
export function assertNames<S extends ConversationState>(
  protocol: TranscriptProtocol<S>,
  title: string,
  file: string,
  byRule = true,
): void {
  const one = casesIn(protocol.folder).find((found) => found.title === title);
  assert.ok(one, title);
  const cwd = path.posix.dirname(file);
  const below = cwd === '/' ? cwd : `${cwd}/`;
  const askFor = (name: string): Approval => {
    const named = `${below}${name}`;
    const lines = one.lines.map((line) =>
      line.replaceAll(`"${file}"`, JSON.stringify(named)).replaceAll(`"${uriOfPath(file)}"`, JSON.stringify(uriOfPath(named))),
    );
    const ask = asksOf(protocol, { ...one, lines }).find(({ kind }) => kind === 'approval');
    assert.ok(ask?.kind === 'approval', `${JSON.stringify(name)} is asked about`);
    return ask;
  };
  assert.equal(isAllowedBy([{ kind: 'edit', decision: 'allow', pattern: '**' }], askFor('src/a.ts'), cwd), byRule);
  assertNoRuleAllows(askFor, cwd);
}

/** The asks that a case opens. */
function asksOf<S extends ConversationState>(protocol: TranscriptProtocol<S>, one: Case): readonly Ask[] {
  const started = protocol.start(one.setup);
  const lines = one.lines.filter((line) => line.startsWith('> ')).map((line) => line.slice(2));
  let now = 0;
  return [...(lines[0] === 'start' ? [] : started.inputs), ...lines].flatMap((line) => {
    if (typeof line === 'string' && line.startsWith('at ')) {
      now = Number(line.slice('at '.length));
      return [];
    }
    const effects = protocol.machine(started.state, typeof line === 'string' ? inputOf(protocol, line) : line, now);
    return effects.flatMap((effect) => (effect.do === 'emit' && effect.event.type === 'ask.opened' ? [effect.event.ask] : []));
  });
}

function casesIn(folder: string): readonly Case[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.txt'));
  return files.sort().flatMap((file) => readCases(file, readFileSync(path.join(folder, file), 'utf8')));
}

function readCases(file: string, text: string): readonly Case[] {
  const cases: { title: string; setup: Record<string, unknown>; lines: string[] }[] = [];
  for (const line of text.split('\n')) {
    const last = cases.at(-1);
    if (line.startsWith('# ') && (!last || last.lines.length > 0)) cases.push({ title: line.slice(2), setup: {}, lines: [] });
    else if (line.startsWith('# ') && last) last.title += ` ${line.slice(2)}`;
    else if (line.startsWith('= ') && last) last.setup = JSON.parse(line.slice(2)) as Record<string, unknown>;
    else if (/^[<>] /.test(line) && last) last.lines.push(line);
    else assert.equal(line.trim(), '', `${file}: no line of a transcript`);
  }
  return cases.map((one) => ({ file, ...one }));
}

function runner<S extends ConversationState>(
  protocol: TranscriptProtocol<S>,
  one: Case,
  throughJson: boolean,
): (line: string | Input) => string[] {
  const started = protocol.start(one.setup);
  let state: S = started.state;
  let now = 0;
  const step = (line: string | Input): string[] => {
    if (typeof line === 'string' && line.startsWith('at ')) {
      now = Number(line.slice('at '.length));
      return [];
    }
    if (throughJson) state = JSON.parse(JSON.stringify(state)) as S;
    const input = typeof line === 'string' ? inputOf(protocol, line) : line;
    const effects = protocol.machine(state, input, now);
    return effects.flatMap((effect) => describeBy(protocol, effect) ?? []);
  };
  if (one.lines[0] !== '> start') for (const line of started.inputs) step(line);
  return step;
}

function check<S extends ConversationState>(protocol: TranscriptProtocol<S>, one: Case, throughJson: boolean): void {
  const step = runner(protocol, one, throughJson);
  const how = throughJson ? ', with the state through JSON' : '';
  let effects: string[] = [];
  let input = 'the beginning';
  for (const line of one.lines) {
    const content = line.slice(2);
    if (line.startsWith('> ')) {
      assert.deepEqual(effects, [], `more than expected after "${input}"${how}`);
      input = content;
      effects = step(content);
    } else {
      const effect = effects.shift() ?? '(nothing)';
      assert.equal(matches(effect, content) ? content : effect, content, `after "${input}"${how}`);
    }
  }
  assert.deepEqual(effects, [], `more than expected after "${input}"${how}`);
}

const matches = (effect: string, wanted: string): boolean =>
  wanted.endsWith('…') && !effect.endsWith('…') ? effect.startsWith(wanted.slice(0, -1)) : effect === wanted;

/** The case as the machine has it now. Shortened lines that still match stay short. */
function written<S extends ConversationState>(protocol: TranscriptProtocol<S>, one: Case): string {
  const step = runner(protocol, one, false);
  const out = [`# ${one.title}`, ...(Object.keys(one.setup).length > 0 ? [`= ${JSON.stringify(one.setup)}`] : [])];
  one.lines.forEach((line, at) => {
    if (!line.startsWith('> ')) return;
    const next = one.lines.findIndex((other, index) => index > at && other.startsWith('> '));
    const before = one.lines.slice(at + 1, next < 0 ? undefined : next).map((other) => other.slice(2));
    out.push(line);
    for (const effect of step(line.slice(2))) out.push(`< ${before.find((wanted) => matches(effect, wanted)) ?? effect}`);
  });
  return out.join('\n');
}

function inputOf<S extends ConversationState>(protocol: TranscriptProtocol<S>, line: string): Input {
  const [, on = '', rest = ''] = /^(\S+) ?([\s\S]*)$/.exec(line) ?? [];
  const at = rest.search(/(?<=^|\s)(?:[{["]|(?:true|false|null|-?\d+)$)/);
  const hasValue = at >= 0;
  const name = (hasValue ? rest.slice(0, at) : rest).trim();
  const value = hasValue ? (JSON.parse(rest.slice(at)) as never) : undefined;
  const own = protocol.inputs?.[on];
  if (own) return own(name, value);
  const [first = '', second = ''] = name.split(' ');
  const { link } = protocol;
  switch (on) {
    case 'start':
    case 'leave':
    case 'signedOut':
      return { on };
    case 'prompt':
    case 'steer':
      return { on: 'intent', intent: { type: on, turnId: name || 't', content: [{ type: 'text', text: value ?? 'go' }] } };
    case 'cancel':
      return { on: 'intent', intent: { type: 'cancel' } };
    case 'answer':
      return { on: 'intent', intent: { type: 'answer', askId: first, answer: answerOf(second, value) } };
    case 'intent':
      return { on: 'intent', intent: value as never };
    case 'message':
      return { on: 'message', link: second ? first : link, method: second || first, params: value };
    case 'asks':
      return { on: 'asked', link, id: first, method: second, params: value };
    case 'withdrawn':
      return { on, link, id: name };
    case 'junk':
      return { on, link, text: rest };
    case 'reply':
      return value === undefined ? { on, call: name } : { on, call: name, result: value };
    case 'refused':
      return { on: 'reply', call: name, error: { kind: 'refused', ...(value as unknown as object) } as never };
    case 'lost':
    case 'unsent':
      return { on: 'reply', call: name, error: { kind: on, message: value ?? 'gone' } };
    case 'closed':
      return { on, link: name || link, why: value ?? { reason: 'It ended.' } };
    case 'timer':
      return { on, timer: rest };
    default:
      throw new Error(`No such input: ${line}`);
  }
}
function answerOf(optionId: string, value: unknown): never {
  if (optionId) return { kind: 'option', optionId, ...(value as object | undefined) } as never;
  return (value ? { kind: 'fields', values: value } : { kind: 'cancelled' }) as never;
}

function describeBy<S extends ConversationState>(protocol: TranscriptProtocol<S>, effect: Effect): string | undefined {
  const own = protocol.describe?.(effect);
  const line = own === undefined ? describe(effect) : (own ?? undefined);
  return line?.replaceAll('\n', '\\n');
}
const json = (value: unknown): string => (value === undefined ? '' : ` ${JSON.stringify(value)}`);

/** An effect in one line. Logs are left out. */
export function describe(effect: Effect): string | undefined {
  switch (effect.do) {
    case 'emit':
      return describeEvent(effect.event);
    case 'open':
      return `open ${effect.link}${json(effect.params)}`;
    case 'close':
      return `close ${effect.link}`;
    case 'request':
      return `request ${effect.call}${effect.call.startsWith(effect.method) ? '' : `: ${effect.method}`}${json(effect.params)}`;
    case 'notify':
      return `notify ${effect.method}${json(effect.params)}`;
    case 'answer':
      return `answer ${effect.id}${effect.none ? ' nothing' : effect.error ? ` error ${effect.error.code} ${effect.error.message}` : json(effect.result)}`;
    case 'port':
      return `port ${effect.call}: ${effect.port}${json(effect.args)}`;
    case 'drop':
      return `drop ${effect.call}`;
    case 'timer':
      return `timer ${effect.timer} ${effect.after ?? 'off'}`;
    case 'log':
      return undefined;
  }
}

export function describeEvent(event: SessionEvent): string {
  switch (event.type) {
    case 'text.delta':
      return `${event.kind} ${event.partId}${event.parent ? ` in ${event.parent}` : ''} ${JSON.stringify(event.text)}`;
    case 'turn.started':
      return `turn ${event.turnId}${json(event.prompt)}`;
    case 'turn.ended': {
      const { type: _type, at: _at, turnId, status, stop, error, ...more } = event;
      return `turn ${turnId} ${status}${stop ? ` ${stop}` : ''}${error ? `: ${error.message}${json(error.next)}` : ''}${Object.keys(more).length > 0 ? json(more) : ''}`;
    }
    case 'turn.activity':
      return `activity ${event.text ?? '-'}`;
    case 'part.added':
      return describePart(event.part);
    case 'parts.removed':
      return `removed ${event.partIds.join(' ')}`;
    case 'call.changed': {
      const { status, title, ...more } = event.change;
      return `call ${event.callId}${status ? ` ${status}` : ''}${title === undefined ? '' : ` "${title}"`}${Object.keys(more).length > 0 ? json(more) : ''}`;
    }
    case 'call.inputDelta':
      return `input ${event.callId} ${JSON.stringify(event.text)}`;
    case 'ask.opened': {
      const { id, title, kind: _kind, ...more } = event.ask;
      return `ask ${id} "${title}"${json(more)}`;
    }
    case 'ask.closed':
      return `ask ${event.askId} ${event.how}`;
    case 'notice':
      return `notice ${event.notice.level} ${event.notice.text}${event.notice.about === 'approvals' ? ' (stays)' : ''}${json(event.notice.next)}`;
    case 'link.opening':
      return `link opening: ${event.note ?? ''}${event.stops ? ' (stops)' : ''}${json(event.next)}`;
    case 'link.ready':
      return `link ready ${event.agent.name}${json(event.offers)}`;
    case 'link.closed':
      return `link closed: ${event.reason}${json(event.next)}`;
    case 'resume.set':
      return `resume ${event.key}`;
    default: {
      const { type, ...more } = event;
      return `${type}${json(more)}`;
    }
  }
}
type AddedPart = Extract<SessionEvent, { type: 'part.added' }>['part'];
function describePart(part: AddedPart): string {
  const { kind, id, parent } = part;
  const place = parent ? ` in ${parent}` : '';
  switch (part.kind) {
    case 'call': {
      const { id: _id, status, title, ...more } = part.call;
      return `call ${id}${place} ${status} "${title}"${json(more)}`;
    }
    case 'notice':
      return `notice${place} ${part.notice.level} ${part.notice.text}`;
    default: {
      const { kind: _kind, id: _id, parent: _parent, ...more } = part;
      return `part ${kind} ${id}${place}${json(more)}`;
    }
  }
}
