import * as z from 'zod/mini';

const text = z.nullish(z.string());
const command = z.object({
  command_path: z.array(z.string().check(z.minLength(1))).check(z.minLength(1)),
  args: text,
  contextId: text,
  metadata: z.nullish(z.record(z.string(), z.unknown())),
});

/** The params of `command/execute`, in either style of names; undefined when they are none (docs/protocols/a2a.md §13). */
export function commandIn(params: unknown): z.infer<typeof command> | undefined {
  const { commandPath, ...rest } = z.safeParse(z.looseObject({}), params).data ?? {};
  return z.safeParse(command, { command_path: commandPath, ...rest }).data;
}

const fields = z.record(z.string(), z.unknown());

/** False when notifications are wanted anywhere but on this machine: this agent answers nobody else, and tells nobody else. */
export function tellsOnlyThisMachine(params: unknown): boolean {
  const { pushNotificationConfig, configuration } = z.safeParse(fields, params).data ?? {};
  const places = [pushNotificationConfig, z.safeParse(fields, configuration).data?.pushNotificationConfig];
  return places.every((one) => one === undefined || one === null || isOnThisMachine(z.safeParse(fields, one).data?.url));
}

function isOnThisMachine(url: unknown): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return /^https?:$/.test(protocol) && /^(127\.0\.0\.1|localhost|\[::1\])$/.test(hostname);
}
