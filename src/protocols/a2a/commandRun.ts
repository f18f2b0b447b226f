import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import { SseReader } from '../../transport/sse.ts';
import type { AdapterContext } from '../adapter.ts';
import type { CommandTree } from './commands.ts';
import { type Memory, setAside } from './memory.ts';
import { commandParams } from './messages.ts';
import { parse } from './rpc.ts';
import { commandAnswer, commandStates, answer as rpcAnswer } from './schema.ts';
import type { Turn } from './turn.ts';
import { fields, isRecord, member } from './words.ts';

export interface CommandScene {
  readonly memory: Memory;
  readonly tree: CommandTree | undefined;
  readonly scene: AdapterContext;
}

/** Runs one of the agent's slash commands as a turn (a2a.md §13). Never rejects. */
export async function runCommand(turn: Turn, at: CommandScene, path: readonly string[], args: string): Promise<void> {
  let given: string | undefined = args.trim();
  setAside(at.memory);
  try {
    const byRest = at.tree?.by === 'rest';
    if (byRest && path.length === 1 && path[0] === 'restore') given = await whichCheckpoint(turn, at, given);
    else if (byRest && path.join(' ') === 'init' && !(await mayWrite(turn))) given = undefined;
    else if (given === '') given = await needed(turn, at, path);
    if (given === undefined) return turn.finish({ status: 'cancelled' });
    await (byRest ? overRest(turn, at, path, given) : overRpc(turn, at, path, given));
  } catch (error) {
    turn.finish({ status: 'failed', error: { message: messageOf(error), next: ['retry'] } });
  }
}

/** What a command cannot do without, asked of the user; empty when it needs nothing. */
async function needed(turn: Turn, { tree }: CommandScene, path: readonly string[]): Promise<string | undefined> {
  const all = tree?.required.get(path.join(' ')) ?? [];
  if (all.length === 0) return '';
  const fields = all.map(({ name, description }) => ({
    id: name,
    label: description ? `${name}: ${description}` : name,
    required: true as const,
  }));
  const values = await turn.asking.fields(t('/{0} needs more', path.join(' ')), fields);
  return values && all.map(({ name }) => values[name]?.join(' ') ?? '').join(' ');
}

/** The shipped server's `restore` sets files back: which checkpoint, and whether that is meant. */
async function whichCheckpoint(turn: Turn, { memory }: CommandScene, given: string): Promise<string | undefined> {
  let name = given;
  if (name === '') {
    const answer = await memory.rpc.fetch('POST', `${memory.base}/executeCommand`, { body: { command: 'restore list', args: [] } });
    const known = checkpointsIn(parse(await answer.text(8 * 1024 * 1024)));
    if (known.length === 0) throw new Error(t('There is nothing to restore.'));
    const title = t('Which checkpoint?');
    const choices = known.map((label) => ({ label }));
    const values = await turn.asking.fields(title, [{ id: 'checkpoint', label: title, choices, required: true }]);
    name = values?.checkpoint?.[0] ?? '';
    if (name === '') return undefined;
  }
  const text = t('Files are set back to how they were. Editors with unsaved text will differ from them.');
  const sure = await turn.asking.confirm(t('Restore the checkpoint {0}?', name), text, t('Restore'), t('Leave things as they are'));
  return sure ? name : undefined;
}

/** The list is JSON in a text. */
function checkpointsIn(value: unknown): readonly string[] {
  const data = isRecord(value) ? value.data : undefined;
  const content = isRecord(data) ? data.content : data;
  const all = typeof content === 'string' ? parse(content) : content;
  if (!Array.isArray(all)) return [];
  return all.flatMap((one) => (isRecord(one) && typeof one.checkpoint === 'string' ? one.checkpoint : [])).slice(0, 200);
}

/** The shipped server's `init` runs on its own, and writes without asking. */
function mayWrite(turn: Turn): Promise<boolean> {
  const text = t('It looks through the folder and writes the file without asking again.');
  return turn.asking.confirm(t('Let the agent write GEMINI.md?'), text, t('Write it'), t('Leave it'));
}

async function overRpc(turn: Turn, { memory }: CommandScene, path: readonly string[], args: string): Promise<void> {
  let first: ReturnType<typeof readAnswer>;
  let streamed = 0;
  await turn.listen(async (take) => {
    const heard = (result: unknown) => {
      streamed += 1;
      const said = first ? undefined : readAnswer(result);
      if (!said) return take(result);
      first = said;
      if (said.status === 'failed_to_start' || said.id === undefined) return;
      memory.task = { id: said.id };
      if (said.id !== memory.aside?.task?.id) memory.known.ownTask();
    };
    await memory.rpc.stream('command/execute', commandParams(memory, path, args), heard, { leave: turn.untilOver });
    if (first?.status === 'failed_to_start') throw new Error(first.message || t('The command could not be started.'));
    if (streamed > 1 || !first) return false;
    // Nothing but the answer came: the rest is told to those who subscribe.
    if (first.id !== undefined) {
      if (first.message) turn.note(first.message);
      return true;
    }
    const ran = first.status === 'started' || (first.status === 'unspecified' && first.message !== '');
    if (!ran) throw new Error(first.message || t('The agent did not say whether the command was started.'));
    turn.show(first.message || t('The command has run.'));
    turn.finish({ status: 'done' });
    return false;
  });
}

function readAnswer(result: unknown) {
  const parsed = commandAnswer.safeParse(fields(result, ['execution_id', 'status', 'message']));
  if (!parsed.success) return undefined;
  const { execution_id: id, status, message } = parsed.data;
  if (id == null && status == null && !message) return undefined;
  return { id: id || undefined, status: member(status, commandStates), message: message ?? '' };
}

async function overRest(turn: Turn, { memory }: CommandScene, path: readonly string[], args: string): Promise<void> {
  const body = { command: path.join(' '), args: args === '' ? [] : [args] };
  const answer = await memory.rpc.fetch('POST', `${memory.base}/executeCommand`, { body, leave: turn.untilOver });
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
      return false;
    });
  }
  const value = parse(await answer.text(8 * 1024 * 1024));
  const { failed, text } = wordsIn(isRecord(value) ? value.data : value);
  turn.show(text || t('The command has run.'));
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
