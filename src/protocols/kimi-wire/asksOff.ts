import { t } from '../../base/l10n.ts';
import type { Answer } from '../../session/intents.ts';
import type { Question, TurnId } from '../../session/model.ts';

/** Commands that make the agent stop asking (wire.md §4): a user must mean them. */
export function turnsAsksOff(text: string): boolean {
  return /^\s*\/(yolo|afk)(\s|$)/.test(text);
}

/** Arguments that do the same from the start. The short one means something else to programs that only start the agent (`npx -y`). */
export function startsWithoutAsking(program: string, args: readonly string[]): boolean {
  return args.some((arg) => ['--yolo', '--auto-approve', '--afk'].includes(arg)) || (program.startsWith('kimi') && args.includes('-y'));
}

const yes = (): string => t('Send it');
const no = (): string => t('Do not send it');

export function confirmAsksOff(id: string, turnId: TurnId, command: string): Question {
  return {
    kind: 'question',
    ours: true,
    id,
    turnId,
    title: t('Turn approvals off?'),
    fields: [
      {
        id: 'sure',
        label: t('"{0}" switches asking off or on. While it is off the agent edits files and runs commands without asking you.', command),
        choices: [{ label: no() }, { label: yes() }],
      },
    ],
  };
}

/** Nothing but the plain yes is one. */
export function isSure(answer: Answer): boolean {
  return answer.kind === 'fields' && answer.values.sure?.[0] === yes();
}
