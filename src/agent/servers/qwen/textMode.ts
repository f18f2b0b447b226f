import { messageOf } from '../../../base/log.ts';
import { Conversation } from '../../conversation.ts';
import type { AgentEvent, Frontend } from '../../frontend.ts';
import type { Model } from '../../models/model.ts';
import type { Workspace } from '../../workspace/paths.ts';

/** Plain text in, plain text out: one prompt, its answer, the end. Nobody can be asked, so what needs a yes is refused. */
export async function answerText(
  prompt: string,
  scene: { readonly model: Model; readonly workspace: Workspace; readonly print: (text: string) => void },
): Promise<number> {
  const frontend: Frontend = {
    emit: (said: AgentEvent) => {
      if (said.type === 'text') scene.print(said.text);
    },
    approve: async () => ({ allow: false, feedback: 'Nobody can be asked in this mode.' }),
    question: async () => undefined,
    callClient: () => Promise.reject(new Error('there is no client')),
    hook: async () => undefined,
    clientTools: () => [],
    asksQuestions: false,
    hasPlanMode: false,
  };
  try {
    await new Conversation({ frontend, model: scene.model, workspace: scene.workspace }).prompt([{ type: 'text', text: prompt }]);
    scene.print('\n');
    return 0;
  } catch (error) {
    process.stderr.write(`parley-agent: ${messageOf(error)}\n`);
    return 1;
  }
}
