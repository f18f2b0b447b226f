import { messageOf } from '../../base/log.ts';
import type { HttpAnswer } from '../../transport/httpAnswer.ts';
import { HttpFailure } from '../../transport/httpFailure.ts';
import { type Exchange, openStream, Refusal } from './exchange.ts';
import { pause, type Timing } from './pause.ts';
import type { ChatResponse } from './response.ts';
import { resumeAddress, type Settings } from './settings.ts';

interface Cut {
  readonly chatId: string;
  readonly response: Pick<ChatResponse, 'resumableId' | 'runId'> & { readonly assembly: { readonly received: number } };
  readonly exchange: Exchange;
  readonly timing: Timing;
  readonly signal: AbortSignal;
}

/** The rest of a cut response, or undefined when there is none to be had (ai-sdk.md §10). */
export async function resumed(
  settings: Settings,
  cut: Cut,
): Promise<{ readonly answer: HttpAnswer; readonly replay: boolean } | undefined> {
  const { resumableId, runId, assembly } = cut.response;
  const place = resumeAddress(settings, { chatId: cut.chatId, resumableId, runId, received: assembly.received });
  if (!place) return undefined;
  for (const wait of [0, ...cut.timing.resumes.slice(0, 2)]) {
    if (wait > 0 && !(await pause(wait, cut.signal))) return undefined;
    try {
      const answer = await openStream(cut.exchange, { method: 'GET', url: place.url, signal: cut.signal });
      return { answer, replay: place.replay };
    } catch (error) {
      if (cut.signal.aborted) return undefined;
      if (error instanceof Refusal && (error.status < 300 || [404, 405, 410, 422].includes(error.status))) return undefined;
      if (!(error instanceof Refusal) && !(error instanceof HttpFailure)) throw error;
      cut.exchange.log.info(`Resuming failed: ${messageOf(error)}`);
    }
  }
  return undefined;
}
