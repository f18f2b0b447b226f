import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { Step } from '../../../src/conversation/step.ts';
import { EventSink } from '../../../src/live/eventSink.ts';
import type { ConnectedAgent } from '../../../src/protocols/a2a/connected.ts';
import { AgentLink } from '../../../src/protocols/a2a/link.ts';
import type { SessionEvent } from '../../../src/session/events.ts';
import { HttpClient } from '../../../src/transport/http.ts';
import { asks, call, fakeAgent, type Json, over, task } from '../../fakes/a2a.ts';
import { option, talk } from './talk.ts';

/*
 * The path of an answer, as docs/protocols/a2a.md §20 lists it: the files of the call chain of a real answer, taken from its stacks. A call that
 * returns before the chain goes on is not on it.
 */

/** The files under `src` on the stack, outermost first. */
function chain(): readonly string[] {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = Number.POSITIVE_INFINITY;
  const frames = (new Error('stack').stack ?? '').split('\n').reverse();
  Error.stackTraceLimit = before;
  const files = frames.flatMap((frame) => /[/(](src\/[\w/.-]+\.ts):\d+/.exec(frame.replaceAll(path.sep, '/'))?.[1] ?? []);
  // Maps of bundled libraries name files of theirs in the same way.
  return joined(files.filter((file) => existsSync(file)));
}
/** The files that the ordered list below a heading of §20 names, in its order. */
function listed(heading: string): readonly string[] {
  const text = readFileSync('docs/protocols/a2a.md', 'utf8');
  const section = text.slice(text.indexOf('## 20.'), text.indexOf('## 21.'));
  const list = section.slice(section.indexOf(heading)).split('\n\n')[1] ?? '';
  return [...list.matchAll(/^\d+\. `(src\/[^`]+)`/gm)].map(([, file]) => file ?? '');
}
/** Runs `seen` with each call of a method, before it. */
function watch<T extends object>(t: TestContext, prototype: T, method: keyof T & string, seen: (args: readonly unknown[]) => void): void {
  const original = prototype[method] as (...args: unknown[]) => unknown;
  t.mock.method(prototype as Record<string, (...args: unknown[]) => unknown>, method, function (this: unknown, ...args: unknown[]) {
    seen(args);
    return original.apply(this, args);
  });
}

test('an answer passes the files that the document lists, and what comes of it passes them back', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [] }),
      'message/stream': ({ params }, reply) => {
        const [part] = (params.message as { readonly parts: readonly { readonly data?: Json }[] }).parts;
        const asked = [task('submitted'), call('PENDING', asks), over('input-required')];
        for (const one of part?.data ? [call('SUCCEEDED'), over()] : asked) reply.record(one);
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('go');
  const ask = await session.approval();

  const ways: Partial<Record<'effect' | 'opening' | 'request' | 'event' | 'session', readonly string[]>> = {};
  const isResult = (event?: SessionEvent) => event?.type === 'call.changed' && event.change.status === 'done';
  watch(t, Step.prototype, 'do', ([effect]) => {
    const { do: what, event } = effect as { readonly do: string; readonly event?: SessionEvent };
    if (what === 'open') ways.effect ??= chain();
    if (isResult(event)) ways.event ??= chain();
  });
  const { get } = Object.getOwnPropertyDescriptor(AgentLink.prototype, 'agent') as { get(): ConnectedAgent };
  t.mock.getter(AgentLink.prototype, 'agent', function (this: AgentLink) {
    if (ways.effect) ways.opening ??= chain();
    return get.call(this);
  });
  watch(t, HttpClient.prototype, 'request', () => {
    if (ways.effect) ways.request ??= chain();
  });
  watch(t, EventSink.prototype, 'emit', ([event]) => {
    if (isResult(event as SessionEvent)) ways.session ??= chain();
  });
  session.answer(ask, option(ask, 'allow_once'));
  await session.ended(turnId);

  const { effect = [], opening = [], request = [], event = [], session: received = [] } = ways;
  const sinceDriver = (files: readonly string[]) => files.slice(files.lastIndexOf('src/protocols/driver.ts'));
  const out = joined([...effect, ...sinceDriver(opening), ...request, 'src/transport/http.ts']);
  assert.deepEqual(listed('Out'), out);
  const record = event.slice(event.indexOf('src/protocols/a2a/http.ts'));
  assert.deepEqual(listed('Back'), joined([...record, ...sinceDriver(received)]));
  assert.ok(out.length - 1 <= 15);
});

/** Without a file that follows itself. */
function joined(files: readonly string[]): readonly string[] {
  return files.filter((file, at) => file !== files[at - 1]);
}
