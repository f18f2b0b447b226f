import { find, keys, put, remove } from '../../conversation/state.ts';
import type { CallId, ToolCall, TurnId } from '../../session/model.ts';
import { isRecord } from './codec.ts';
import { metaOf, refusedByRules, resultEvents, textOf } from './messageCodec.ts';
import type * as schema from './schema.ts';
import type { Blocks, MessageState, QwenCall, QwenToolRun } from './state.ts';
import { isOpen, QwenStep } from './step.ts';
import { toolUse } from './tools.ts';

const MESSAGES_KEPT = 50;
/** Length of the line that shows a hook's output, in UTF-16 units. */
const HOOK_REASON = 500;
const WAITED_FOR: ReadonlySet<string> = new Set(['agent', 'shell']);

/**
 * The parts of a turn in the message dialect: texts and thoughts, piece by piece and whole, calls and their results, and sub-agents
 * that work on in the background. Whose turn it is, the step above decides.
 */
export abstract class MessageParts extends QwenStep {
  get talk(): MessageState {
    const { message } = this.agent;
    if (!message) throw new Error('Another dialect is spoken');
    return message;
  }

  // --- blocks: pieces as they stream, whole ones in their place, calls by id, a sub-agent's under its call. Nothing is shown twice

  lane(parent: string | null | undefined): Blocks {
    const { lanes } = this.talk;
    const name = parent ?? '';
    return find(lanes, name) ?? put(lanes, name, { blocks: [], finished: [] });
  }
  stream({ event, parent_tool_use_id: parent }: schema.StreamLine, turnId: TurnId): void {
    const lane = this.lane(parent);
    const index = event.index ?? 0;
    if (event.type === 'message_start') lane.blocks = [];
    if (event.type === 'content_block_start' && event.content_block) this.blockBegins(lane, index, event.content_block, turnId, parent);
    if (event.type === 'content_block_delta' && event.delta) this.blockGrows(lane, index, event.delta, turnId, parent);
  }
  blockBegins(lane: Blocks, index: number, block: schema.Block, turnId: TurnId, parent: string | null | undefined): void {
    const kind = kindOf(block.type);
    if (kind === undefined || (kind === 'call' && !block.id)) return;
    if (kind === 'call') this.ensureCall(block.id ?? '', block.name ?? 'tool', undefined, turnId, parent ?? null);
    const live = beginBlock(lane, index, kind, kind === 'call' ? (block.id ?? '') : this.newPart());
    this.growText(live, block.text ?? block.thinking ?? '', turnId, parent);
  }
  blockGrows(
    lane: Blocks,
    index: number,
    delta: NonNullable<schema.StreamLine['event']['delta']>,
    turnId: TurnId,
    parent: string | null | undefined,
  ): void {
    const piece = delta.text ?? delta.thinking ?? delta.partial_json;
    if (!piece) return;
    const kind = delta.text != null ? 'text' : delta.thinking != null ? 'thought' : 'call';
    const known = lane.blocks.findLast((block) => block.index === index);
    if (kind !== 'call')
      return this.growText(known?.kind === kind ? known : beginBlock(lane, index, kind, this.newPart()), piece, turnId, parent);
    if (known?.kind !== 'call') return;
    known.text += piece;
    this.emit({ type: 'call.inputDelta', turnId, callId: known.id, text: piece });
  }
  growText(block: Blocks['blocks'][number], piece: string, turnId: TurnId, parent: string | null | undefined): void {
    if (piece === '' || block.kind === 'call') return;
    block.text += piece;
    const { kind, id: partId } = block;
    if (parent == null) this.emit({ type: 'text.delta', turnId, kind, partId, text: piece });
    else this.emit({ type: 'text.delta', turnId, kind, partId, parent, text: piece });
  }
  /** Whole blocks complete streamed text, replace it where it differs, or are added. */
  wholeBlocks({ message, parent_tool_use_id: parent }: schema.AssistantLine, turnId: TurnId): void {
    const lane = this.lane(parent);
    for (const block of message.content) {
      const kind = kindOf(block.type);
      if (kind === undefined) continue;
      const repeated = repeats(lane, message.id, block);
      if (kind === 'call') {
        if (block.id) this.wholeCall(lane, block.id, block, turnId, parent ?? null);
        continue;
      }
      const text = block.text ?? block.thinking ?? '';
      if (parent && kind === 'text') put(this.talk.lastWords, parent, text);
      const live = finishBlock(lane, kind, undefined);
      const fresh = () => ({ kind, id: this.newPart(), index: -1, text: '', open: false });
      if (!live) {
        if (!repeated) this.growText(fresh(), text, turnId, parent);
      } else if (text.startsWith(live.text)) this.growText(live, text.slice(live.text.length), turnId, parent);
      else {
        this.emit({ type: 'parts.removed', turnId, partIds: [live.id] });
        this.growText(fresh(), text, turnId, parent);
      }
    }
  }
  wholeCall(lane: Blocks, id: CallId, block: schema.Block, turnId: TurnId, parent: CallId | null): void {
    finishBlock(lane, 'call', id);
    const known = this.call(id);
    const name = block.name ?? known?.use.name ?? 'tool';
    if (!known) return this.ensureCall(id, name, block.input, turnId, parent);
    known.use = toolUse(name, block.input, this.cwd);
    const { title, kind, locations, input } = known.use;
    this.changeCall({ id: turnId }, id, { title, kind, locations, input });
  }

  // --- calls

  ensureCall(id: CallId, name: string | undefined, input: unknown, turnId: TurnId, parent: CallId | null): void {
    if (!this.call(id)) this.newCall(id, toolUse(name ?? 'tool', input, this.cwd), turnId, parent, input);
  }
  /** The call is under way. */
  runs(callId: CallId): void {
    const call = this.call(callId);
    const turnId = this.turnOf(callId);
    if (!call || turnId === undefined || (call.status !== 'pending' && call.status !== 'waiting')) return;
    call.status = 'running';
    this.changeCall({ id: turnId }, callId, { status: 'running' });
  }
  callEnded(callId: CallId, block: schema.Block, line: schema.UserLine): void {
    const call = this.call(callId);
    const turnId = this.turnOf(callId);
    this.showHookRefusal(line, callId, block, call?.use.name);
    this.settleCall(callId);
    const how = {
      use: call?.use,
      before: call?.before?.text,
      refused: call?.decision.is === 'refused',
      stopping: this.state.turn?.phase === 'stopping',
      recorded: this.state.turn?.by === 'record',
      ...(call?.decision.is === 'written' ? { applied: call.decision.diff } : {}),
    };
    // The start of a sub-agent is a text for the model.
    const isLaunched = call?.use.input.run_in_background === true && Object.values(this.talk.tasks).includes(callId);
    const isAsync = !block.is_error && (isLaunched || (isRecord(line.tool_use_result) && line.tool_use_result.isAsync === true));
    if (call) call.before = null;
    this.setStatus(callId, block.is_error ? 'failed' : 'done');
    if (turnId !== undefined && !isAsync) this.emitAll(resultEvents(block, line, turnId, how, this.cwd));
    if (!block.is_error && call) this.agentLaunched(call, isAsync);
  }
  /** The turn has ended well: calls without a result end as unknown, not as cancelled. */
  endWithoutResults(turnId: TurnId): readonly CallId[] {
    const ended = this.openCalls().filter((call) => call.turn === turnId && call.status !== 'waiting');
    for (const call of ended) call.status = 'ended';
    return ended.map(({ id }) => id);
  }
  /** A result shows whether a hook has refused its call. */
  showHookRefusal(line: schema.UserLine, callId: CallId, block: schema.Block, name: string | undefined): void {
    const { refused } = this.talk;
    const decision = metaOf(line, callId)?.permission_decision;
    if (decision?.decision !== 'reject' || decision.source !== 'hook' || find(refused, callId)) return;
    put(refused, callId, true);
    const reason = textOf(block.content)
      .replace(/^\w+:\w+ hook error: (?:\[[\s\S]*?\]: )?/, '')
      .trim()
      .slice(0, HOOK_REASON);
    const tool = name ?? '…';
    this.note('info', refusedByRules(`${tool}: ${reason || '…'}`), line.parent_tool_use_id);
  }
  /** The end of a turn names what was refused in it without asking, some agents all of the session; each is told once. */
  showRefused({ permission_denials: all }: schema.ResultLine): void {
    const { refused } = this.talk;
    const names = new Set<string>();
    for (const { tool_use_id: id, tool_name: name } of all ?? []) {
      if (!id || find(refused, id)) continue;
      put(refused, id, true);
      const isOfBefore = this.state.setup.resume !== null && !this.call(id);
      if (name && !find(this.agent.notAllowed, id) && !isOfBefore) names.add(name);
    }
    if (names.size > 0) this.note('info', refusedByRules([...names].join(', ')));
  }
  callOfOursEnded(_run: Extract<QwenToolRun, { for: 'call' }>): void {}
  settled(): void {
    if (this.state.turn) this.talk.silence.since = this.now;
  }

  // --- tasks, and sub-agents that work on after the agent was told that they began

  /** False for a line that only repeats the card of its call. */
  tellsOfTask({ subtype, task_id: task }: schema.SystemLine, call: QwenCall | undefined): boolean {
    const { foreground } = this.talk;
    if (subtype === 'task_started') {
      if (!call || !WAITED_FOR.has(call.use.work) || call.use.input.run_in_background === true) return true;
      if (task) put(foreground, task, call.id);
      return false;
    }
    if (subtype !== 'task_notification' || !task) return true;
    const waited = this.call(find(foreground, task));
    remove(foreground, task);
    // Its call came to an end before it did: it was in the background after all.
    return !waited || (waited.use.input.run_in_background !== false && waited.status === 'done');
  }
  /** True when the line is about a sub-agent in the background whose card shows all of it. */
  isOfBackgroundAgent({ subtype, task_id: task, tool_use_id: callId, status, summary }: schema.SystemLine): boolean {
    if (!task) return false;
    const { tasks } = this.talk;
    const call = this.call(callId);
    if (subtype === 'task_started' && call?.use.work === 'agent') {
      put(tasks, task, call.id);
      const inBackground = call.use.input.run_in_background === true;
      // Its call may have got its result before: then that was not the end, and its text was for the model.
      if (inBackground && call.status === 'done') {
        this.changeCall({ id: call.turn }, call.id, { output: [] });
        this.agentLaunched(call, true);
      }
      return inBackground;
    }
    const ended = subtype === 'task_notification' ? this.call(find(tasks, task)) : undefined;
    if (!ended) return false;
    remove(tasks, task);
    if (!ended.goesOn) return false;
    this.agentEnded(ended, status === 'completed' ? 'done' : status === 'failed' ? 'failed' : 'cancelled', summary ?? '');
    return true;
  }
  /** The result of a call came; `isAsync`: it only reports that its sub-agent works in the background now. */
  agentLaunched(call: QwenCall, isAsync: boolean): void {
    if (!isAsync || !Object.values(this.talk.tasks).includes(call.id)) return;
    call.goesOn = true;
    call.status = 'running';
    this.changeCall({ id: call.turn }, call.id, { status: 'running', goesOn: true });
    this.emitBackground();
  }
  agentEnded(call: QwenCall, status: ToolCall['status'], words: string): void {
    const turn = { id: call.turn };
    const below = Object.values(this.agent.calls).filter(
      (one) => one !== call && isOpen(one) && this.chainOf(one.id).some((above) => above !== one && above.id === call.id),
    );
    for (const child of below) {
      this.settleCall(child.id);
      child.status = 'cancelled';
      this.changeCall(turn, child.id, { status: 'cancelled' });
    }
    // Its last text is usually its report.
    if (words !== '' && words.trim() !== find(this.talk.lastWords, call.id)?.trim())
      this.emit({ type: 'text.delta', turnId: turn.id, kind: 'text', partId: this.newPart(), parent: call.id, text: words });
    this.changeCall(turn, call.id, { status, goesOn: false });
    call.status = status;
    call.goesOn = false;
    this.emitBackground();
  }
  emitBackground(): void {
    const { tasks } = this.talk;
    const running = keys(tasks).flatMap((id) => {
      const call = this.call(find(tasks, id));
      return call?.goesOn ? [{ id, text: call.use.title }] : [];
    });
    this.emit({ type: 'background.set', tasks: running });
  }
}

function kindOf(type: string): Blocks['blocks'][number]['kind'] | undefined {
  if (type === 'text') return 'text';
  if (type === 'thinking') return 'thought';
  return type === 'tool_use' || type === 'server_tool_use' ? 'call' : undefined;
}
/** An index identifies the block that was begun under it last: agents restart their count inside a message. */
function beginBlock(lane: Blocks, index: number, kind: 'text' | 'thought' | 'call', id: string): Blocks['blocks'][number] {
  const block = { kind, id, index, text: '', open: true };
  lane.blocks = [...lane.blocks.filter((one) => one.open || one.index !== index), block];
  return block;
}
/** The block that a whole one completes: the oldest open one of its kind, a call by its id. */
function finishBlock(lane: Blocks, kind: 'text' | 'thought' | 'call', id: string | undefined): Blocks['blocks'][number] | undefined {
  const block = lane.blocks.find((one) => one.open && one.kind === kind && (id === undefined || one.id === id));
  if (block) block.open = false;
  return block;
}
/** True when this text was finished before under the same message. */
function repeats({ finished }: Blocks, messageId: string | null | undefined, block: schema.Block): boolean {
  if (!messageId) return false;
  const key = `${block.type}:${block.text ?? block.thinking ?? block.id ?? ''}`;
  const known = finished.find((one) => one.messageId === messageId);
  if (known?.keys.includes(key)) return true;
  if (known) known.keys.push(key);
  else finished.push({ messageId, keys: [key] });
  if (finished.length > MESSAGES_KEPT) finished.shift();
  return false;
}
