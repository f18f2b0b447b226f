import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { Closed } from '../../../src/transport/channel.ts';
import type { ProcessSpec } from '../../../src/transport/process.ts';
import { ScriptedChannel, settled } from '../../transport/scriptedChannel.ts';
import { Desk, type DeskOptions } from './desk.ts';

// A process that ends at once: what we write to it fails before its end is known (wire.md §1 and §14, "Transport").

/** Nothing can be written to it. */
class Broken extends ScriptedChannel {
  override send(): Promise<void> {
    return Promise.reject(new Error('write EPIPE'));
  }
}

const ended = (code: number, stderr: string): Closed => ({
  reason: `"kimi --wire" ended with exit code ${code}.`,
  failure: 'ended',
  code,
  stderr,
});
const open: { desk: Desk; channels: ScriptedChannel[] }[] = [];

afterEach(async () => {
  for (const { desk, channels } of open.splice(0)) {
    desk.dispose();
    await desk.adapter.ended;
    for (const channel of channels) assert.equal(channel.listeners, 0);
  }
});

const closes = (desk: Desk): number => desk.events.filter((event) => event.type === 'link.closed').length;

function started(first: ScriptedChannel, options: DeskOptions = {}) {
  const channels: ScriptedChannel[] = [];
  const specs: ProcessSpec[] = [];
  const desk = new Desk((spec) => {
    specs.push(spec);
    const channel = channels.length === 0 ? first : new ScriptedChannel();
    channels.push(channel);
    return channel;
  }, options);
  open.push({ desk, channels });
  return { desk, specs };
}

test('the reason is the exit code and the end of stderr, not the write that failed', async () => {
  const channel = new Broken();
  const { desk } = started(channel);
  await settled();
  assert.equal(closes(desk), 0);
  channel.close(ended(3, 'config broken'));
  const { link } = desk.session;
  assert.ok(link.state === 'closed');
  assert.equal(link.reason, '"kimi --wire" ended with exit code 3.');
  assert.equal(link.detail, 'config broken');
  assert.equal(closes(desk), 1);
});

test('Kimi Code is recognised though nothing could be written to it', async () => {
  const channel = new Broken();
  const { desk } = started(channel);
  await settled();
  channel.close(ended(1, "error: unknown option '--wire'\n"));
  await desk.until(() => desk.session.link.state === 'closed');
  assert.match(desk.session.link.state === 'closed' ? desk.session.link.reason : '', /Kimi Code/);
});

test('an old server that refuses the session flag is started again without it', async () => {
  const channel = new Broken();
  const { desk, specs } = started(channel);
  await settled();
  channel.close(ended(2, 'Error: No such option: --session'));
  await settled();
  assert.deepEqual(
    specs.map((spec) => spec.args.includes('--session')),
    [true, false],
  );
  assert.equal(desk.session.link.state, 'opening');
  assert.equal(closes(desk), 0);
});

test('a process that lives on though nothing can be written to it is given up after a while', async () => {
  const { desk } = started(new Broken(), { limits: { closing: 1 } });
  await desk.until(() => desk.session.link.state === 'closed');
  assert.match(desk.session.link.state === 'closed' ? desk.session.link.reason : '', /The handshake with kimi failed: .*EPIPE/);
});
