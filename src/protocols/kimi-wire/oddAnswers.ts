import type { InitializeResult } from './schema.ts';

/**
 * The answer to `initialize` as far as it makes sense: one odd member or entry is left out, and told, instead of sinking the session. A version
 * given as a number counts as its text. Undefined when the answer is no object.
 */
export function readInitialize(answer: unknown, odd: (what: string) => void): InitializeResult | undefined {
  const leftOut = (where: string, value: unknown): undefined => {
    if (value !== undefined && value !== null) odd(`${where}: ${(JSON.stringify(value) ?? typeof value).slice(0, 100)}`);
    return undefined;
  };
  const fields = (where: string, value: unknown): Readonly<Record<string, unknown>> | undefined =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : leftOut(where, value);
  const text = (where: string, value: unknown): string | undefined => (typeof value === 'string' ? value : leftOut(where, value));
  const list = <T>(where: string, value: unknown, read: (entry: unknown, where: string) => T | undefined): T[] | undefined => {
    if (!Array.isArray(value)) return leftOut(where, value);
    return value.flatMap((entry: unknown, at) => {
      if (entry === undefined || entry === null) odd(`${where}.${at}: ${entry}`);
      return read(entry, `${where}.${at}`) ?? [];
    });
  };
  const word = (entry: unknown, where: string): string | undefined => text(where, entry);

  const whole = fields('result', answer);
  if (!whole) return undefined;
  const version = typeof whole.protocol_version === 'number' ? String(whole.protocol_version) : whole.protocol_version;
  const server = fields('server', whole.server);
  const name = server && text('server.name', server.name);
  const external = fields('external_tools', whole.external_tools);
  return {
    protocol_version: text('protocol_version', version),
    server: name === undefined ? undefined : { name, version: text('server.version', server?.version) },
    slash_commands: list('slash_commands', whole.slash_commands, (entry, where) => {
      const command = fields(where, entry);
      const called = command && (text(`${where}.name`, command.name) || leftOut(where, command));
      if (!called) return undefined;
      const { description, aliases } = command;
      return {
        name: called,
        description: text(`${where}.description`, description),
        aliases: list(`${where}.aliases`, aliases, word),
      };
    }),
    external_tools: external && {
      accepted: list('external_tools.accepted', external.accepted, word),
      rejected: list('external_tools.rejected', external.rejected, (entry, where) => {
        const tool = fields(where, entry);
        const called = tool && (text(`${where}.name`, tool.name) || leftOut(where, tool));
        return called ? { name: called, reason: text(`${where}.reason`, tool.reason) } : undefined;
      }),
    },
  };
}
