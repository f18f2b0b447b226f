import { messageOf } from '../../base/log.ts';
import { say } from '../../base/say.ts';
import { SseReader } from '../../transport/sse.ts';
import type { Scene } from '../adapter.ts';
import type { CommandTree } from './commands.ts';
import type { Memory } from './memory.ts';
import { parse } from './rpc.ts';
import { commandAnswer, commandStates, answer as rpcAnswer } from './schema.ts';
import type { Turn } from './turn.ts';
import { fields, isRecord, member } from './words.ts';

export interface CommandScene {
  readonly memory: Memory;
  readonly tree: CommandTree | undefined;
  readonly scene: Scene;
}

/** Runs one of the agent's slash commands as a turn (a2a.md §13). Never rejects. */
export async function runCommand(turn: Turn, at: CommandScene, path: readonly string[], args: string): Promise<void> {
  const needed = at.tree?.required.get(path.join(' ')) ?? [];
  let given = args.trim();
  if (needed.length > 0 && given === '') {
    const entered = await turn.askFor(say('/{0} needs more', path.join(' ')), needed);
    if (entered === undefined) return turn.finish({ status: 'cancelled' });
    given = entered;
  }
  try {
    await (at.tree?.by === 'rest' ? overRest(turn, at, path, given) : overRpc(turn, at, path, given));
  } catch (error) {
    turn.finish({ status: 'failed', error: { message: messageOf(error), next: ['retry'] } });
  }
}

async function overRpc(turn: Turn, { memory }: CommandScene, path: readonly string[], args: string): Promise<void> {
  let first: ReturnType<typeof readAnswer>;
  let streamed = 0;
  await turn.listen(async (take) => {
    await memory.rpc.stream('command/execute', { command_path: path, args }, (result) => {
      streamed += 1;
      const said = first ? undefined : readAnswer(result);
      if (!said) return take(result);
      first = said;
      if (said.status === 'failed_to_start') return;
      if (said.id) memory.task = { id: said.id };
    });
    if (first?.status === 'failed_to_start') throw new Error(first.message || say('The command could not be started.'));
    // Nothing but the answer came: the rest is told to those who subscribe.
    if (first && streamed === 1) await memory.rpc.stream('tasks/resubscribe', { id: first.id }, take);
  });
}

function readAnswer(result: unknown) {
  const parsed = commandAnswer.safeParse(fields(result, ['execution_id', 'status', 'message']));
  if (!parsed.success || (parsed.data.execution_id == null && typeof parsed.data.status !== 'string')) return undefined;
  const { execution_id: id, status, message } = parsed.data;
  return { id: id ?? undefined, status: member(status, commandStates), message: message ?? '' };
}

async function overRest(turn: Turn, { memory }: CommandScene, path: readonly string[], args: string): Promise<void> {
  const body = { command: path.join(' '), args: args === '' ? [] : [args] };
  const answer = await memory.rpc.fetch('POST', `${memory.base}/executeCommand`, body);
  if (answer.type === 'text/event-stream') {
    return turn.listen(async (take) => {
      // Badly framed: every data line is a record.
      const reader = new SseReader(
        (event) => {
          const parsed = rpcAnswer.safeParse(parse(event.data));
          if (parsed.success && !parsed.data.error) take(parsed.data.result);
        },
        { eachLine: true },
      );
      await answer.read((chunk) => reader.push(chunk));
      reader.end();
    });
  }
  const value = parse(await answer.text(8 * 1024 * 1024));
  const { failed, text } = wordsIn(isRecord(value) ? value.data : value);
  turn.show(text || say('The command has run.'));
  turn.finish(failed ? { status: 'failed', error: { message: text } } : { status: 'done' });
}

function wordsIn(data: unknown): { readonly failed: boolean; readonly text: string } {
  if (typeof data === 'string') return { failed: false, text: data };
  if (Array.isArray(data)) {
    const all = data.map(wordsIn);
    return { failed: all.some((one) => one.failed), text: all.map((one) => one.text).join('\n\n') };
  }
  if (isRecord(data) && data.type === 'message') {
    return { failed: data.messageType === 'error', text: typeof data.content === 'string' ? data.content : block(data.content) };
  }
  return { failed: false, text: data === undefined || data === null ? '' : block(data) };
}

function block(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}
