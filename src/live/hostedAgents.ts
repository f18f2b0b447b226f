import { type Profile, providerOf } from './profiles.ts';

/* Agents that run in the agent host of this user instead of in the window: profiles of their own, so that a session comes back to where it ran. */

const MARK = '@host';

export function isHosted(profileId: string): boolean {
  return profileId.endsWith(MARK);
}

/** The id in the settings, wherever the agent runs. */
export function settingsId(profileId: string): string {
  return isHosted(profileId) ? profileId.slice(0, -MARK.length) : profileId;
}

/** The same agent in the host. Uses the address and token of the host that runs at launch. */
export function inHost({ id, name, cwd }: Profile): Profile {
  const agent = providerOf(id);
  const folder = cwd === undefined ? {} : { cwd };
  return { id: id + MARK, name, protocol: 'ahp', args: [], env: {}, headers: {}, url: '', options: { agent }, ...folder };
}
