import { t } from '../../../base/l10n.ts';
import type { SessionEvent } from '../../../session/events.ts';
import type { Turns } from '../turns.ts';
import type { YesNo } from '../yesNo.ts';
import type { Calls } from './calls.ts';
import { outcomeOf } from './commandResult.ts';
import type { Flow } from './flow.ts';
import type { ResultCommand } from './schema.ts';

/** Milliseconds a submitted prompt may take to show that it runs (qwen.md §4.5). */
const SUBMIT = 2_000;

export interface CommandDeps {
  readonly emit: (event: SessionEvent) => void;
  readonly turns: Turns;
  readonly calls: Calls;
  readonly flow: Flow;
  readonly yesNo: YesNo;
  readonly newId: () => string;
  readonly later: (ms: number, run: () => void) => void;
  readonly promptId: () => string;
  readonly request: (request: object) => void;
  /** What is shown gives way to that conversation. */
  readonly loadHistory: (items: readonly unknown[]) => void;
  readonly quit: () => void;
}

/** Carries out what a command of the agent asks of us. */
export class CommandResults {
  readonly #deps: CommandDeps;

  constructor(deps: CommandDeps) {
    this.#deps = deps;
  }

  take(line: ResultCommand): void {
    const outcome = outcomeOf(line);
    const { turns, flow, yesNo, calls } = this.#deps;
    const turn = turns.running;
    switch (outcome.does) {
      case 'say':
        if (outcome.text !== '') turns.note(outcome.level, outcome.text);
        return flow.finish('stop');
      case 'tell': {
        const { text } = outcome;
        if (turn) this.#deps.emit({ type: 'text.delta', turnId: turn.id, kind: 'text', partId: turns.newPart(), text });
        else if (text !== '') turns.note('info', text);
        return flow.finish('stop');
      }
      case 'nothing':
        return flow.finish('stop');
      case 'history':
        return this.#deps.loadHistory(outcome.items);
      case 'tool':
        if (turn) for (const event of calls.ensureCall(this.#deps.newId(), outcome.name, outcome.args, turn.id)) this.#deps.emit(event);
        return flow.active(true);
      case 'turn': {
        flow.active(true);
        const { prompt_id: id } = line;
        const parts = turns.parts;
        return this.#deps.later(SUBMIT, () => {
          if (!turn || turns.running !== turn || turns.parts !== parts || outcome.parts.length === 0) return;
          this.#deps.request({
            prompt_id: id ?? this.#deps.promptId(),
            continuation: true,
            input: { origin: 'user', parts: outcome.parts, command: null },
          });
        });
      }
      case 'quit':
        return yesNo.ask(
          { title: t('End this session?'), text: t('The agent ends. What was said stays and can be gone on with.') },
          (yes) => {
            if (yes) this.#deps.quit();
            else flow.finish('stop');
          },
        );
      case 'confirm':
        return yesNo.ask({ ...outcome, ...(turn ? { turnId: turn.id } : {}) }, (yes) => {
          if (!yes) return flow.finish('stop');
          const approved = outcome.shell ? { approvedCommands: outcome.commands } : { confirmationOutcome: 'proceed_once' };
          const command = { ...line.command, ...approved };
          this.#deps.request({ prompt_id: this.#deps.promptId(), input: { origin: 'user', parts: [{ type: 'text', text: '' }], command } });
        });
    }
  }
}
