/** What live sessions say themselves; the editor gives these in the person's language. */
export interface LiveTexts {
  readonly allow: string;
  readonly reject: string;
  readonly interrupted: string;
  readonly noLaunch: (reason: string) => string;
  readonly endedByPerson: string;
}

export const englishTexts: LiveTexts = {
  allow: 'Allow',
  reject: 'Reject',
  interrupted: 'Interrupted: the window or the agent was closed.',
  noLaunch: (reason) => `The agent could not be started: ${reason}`,
  endedByPerson: 'The agent was stopped.',
};
