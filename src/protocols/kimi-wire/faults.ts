import { t } from '../../base/l10n.ts';
import type { Fault, Remedy } from '../../session/model.ts';
import { failureOf } from '../../transport/jsonrpc.ts';
import { codes } from './schema.ts';

const NEXT: Readonly<Record<number, readonly Remedy[]>> = {
  [codes.noModel]: ['configureModel', 'signIn', 'retry'],
  [codes.modelCannot]: ['retry'],
  [codes.modelService]: ['retry'],
  [codes.loginExpired]: ['configureModel', 'signIn', 'retry'],
  [codes.internal]: ['retry', 'showLog'],
  [codes.wrongState]: ['retry', 'restart'],
};
const PLAIN: Readonly<Record<number, () => string>> = {
  [codes.noModel]: () => t('The agent has no model configured.'),
  [codes.loginExpired]: () => t('The login or the key of the agent was refused.'),
  [codes.modelCannot]: () => t('The model cannot do this.'),
};

/** Why a turn failed, and what a user can do (wire.md §10). Undefined when the connection ended: that is said elsewhere. */
export function faultOf(error: unknown): Fault | undefined {
  const failed = failureOf(error);
  if (!failed) return undefined;
  const plain = PLAIN[failed.code]?.();
  const message = [plain, failed.message === plain ? '' : failed.message].filter(Boolean).join(' ') || t('The agent failed.');
  return { message, code: String(failed.code), next: NEXT[failed.code] ?? ['showLog'] };
}
