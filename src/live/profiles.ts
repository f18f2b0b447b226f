import * as z from 'zod/mini';
import type { Launch, Protocol } from '../protocols/adapter.ts';

/** A configured agent: name, protocol, how to launch or reach it. */
export interface Profile {
  readonly id: string;
  readonly name: string;
  readonly protocol: string;
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Settings that only the protocol understands. */
  readonly options?: Readonly<Record<string, string>>;
  /** Folder its sessions work in; absent means the workspace folder. */
  readonly cwd?: string;
}
export interface ReadProfiles {
  readonly profiles: readonly Profile[];
  /** Problems of the skipped entries, one sentence each. */
  readonly problems: readonly string[];
}

const text = z.string().check(z.minLength(1), z.maxLength(4096));
const entry = z.object({
  id: z.optional(text),
  name: text,
  protocol: text,
  command: z.optional(text),
  args: z.optional(z.array(z.string())),
  env: z.optional(z.record(z.string(), z.string())),
  cwd: z.optional(text),
  url: z.optional(text),
  headers: z.optional(z.record(z.string(), z.string())),
  options: z.optional(z.record(z.string(), z.string())),
});

/** Reads the setting `parley.agents`. Skips and names bad entries; keeps the others. */
export function readProfiles(setting: unknown, protocols: Readonly<Record<string, Pick<Protocol, 'launch'>>>): ReadProfiles {
  if (setting === undefined || setting === null) return { profiles: [], problems: [] };
  if (!Array.isArray(setting)) return { profiles: [], problems: ['parley.agents is not a list'] };
  const profiles: Profile[] = [];
  const problems: string[] = [];
  setting.forEach((value: unknown, at) => {
    const place = `parley.agents[${at}]`;
    const parsed = entry.safeParse(value);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      problems.push(`${place}: ${[issue?.path.join('.'), issue?.message].filter(Boolean).join(': ')}`);
      return;
    }
    const { id, name, protocol: protocolId, command, cwd, options } = parsed.data;
    // An agent host prints the address of its WebSocket, which a request of HTTP opens.
    const url = parsed.data.url?.replace(/^ws(?=s?:)/, 'http');
    const protocol = Object.hasOwn(protocols, protocolId) ? protocols[protocolId] : undefined;
    if (!protocol) problems.push(`${place} (${name}): unknown protocol "${protocolId}"; known are ${Object.keys(protocols).join(', ')}`);
    else if (protocol.launch === 'process' && !command) problems.push(`${place} (${name}): ${protocolId} needs a command`);
    else if (protocol.launch === 'http' && !isHttp(url)) problems.push(`${place} (${name}): ${protocolId} needs an http or https url`);
    else if (protocol.launch === 'either' && !command && !isHttp(url))
      problems.push(`${place} (${name}): ${protocolId} needs a command, or an http or https url`);
    else if (profiles.some((other) => other.id === (id ?? name))) problems.push(`${place}: a second agent called "${id ?? name}"`);
    else {
      profiles.push({
        id: id ?? name,
        name,
        protocol: protocolId,
        args: parsed.data.args ?? [],
        env: parsed.data.env ?? {},
        headers: parsed.data.headers ?? {},
        ...(command === undefined ? {} : { command }),
        ...(cwd === undefined ? {} : { cwd }),
        ...(url === undefined ? {} : { url }),
        ...(options === undefined ? {} : { options }),
      });
    }
  });
  return { profiles, problems };
}

function isHttp(url: string | undefined): boolean {
  return url !== undefined && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

export function launchOf(profile: Profile, cwd: string): Launch {
  const { command, args, env, url = '', headers } = profile;
  const options = profile.options === undefined ? {} : { options: profile.options };
  if (command !== undefined) return { kind: 'process', command, args, env, cwd, ...options };
  return { kind: 'http', url, headers, cwd, ...options };
}

/** The host's name for an agent: the scheme of its sessions, lower case, digits and dashes, beginning with a letter. */
export function providerOf(profileId: string): string {
  const plain = profileId
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 60);
  return /^[a-z]/.test(plain) ? plain : `agent-${plain}`;
}
