import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { protocols } from '../../src/protocols/registry.ts';
import { manifest, settings } from './manifest.ts';
import { sourcesUnder } from './sources.ts';

/** Commands that make sense at any time, each with the reason why it has no `enablement`. */
const always: Readonly<Record<string, string>> = {
  'parley.newSession': 'starts the first session too',
  'parley.focusChat': 'opens the view',
  'parley.pickAgent': 'lists agents without a session',
  'parley.openSettings': 'the settings are there without a session',
  'parley.showLog': 'the log is there without a session',
  'parley.toggleTrace': 'a trace must be on before the session that is to be traced',
  'parley.copyMessage': 'stands only in the menu over a message',
  'parley.copyAnswer': 'stands only in the menu over an answer',
  'parley.openWalkthrough': 'explains what to do first',
};

/** A setting with a list of values. */
interface Choice {
  readonly enum: readonly string[];
  readonly enumDescriptions?: readonly string[];
}

const commands = manifest.contributes.commands ?? [];
const ids = new Set(commands.map((entry) => entry.command));
const scopes = ['application', 'machine', 'machine-overridable', 'window', 'resource', 'language-overridable'];

test('every command has a category and says when it is enabled', () => {
  for (const { command, title, category, enablement } of commands) {
    assert.match(command, /^parley\.[a-zA-Z.]+$/);
    assert.match(title, /^%.+%$/, `${command}: the title is not translated`);
    assert.ok(category, `${command} has no category`);
    assert.ok(enablement !== undefined || command in always, `${command} has no enablement, and no reason for that in this test`);
    assert.ok(enablement === undefined || !(command in always), `${command} has an enablement, so its line in this test is stale`);
  }
  assert.deepEqual(
    Object.keys(always).filter((command) => commands.length > 0 && !ids.has(command)),
    [],
  );
});

test('menus and keybindings name commands that exist', () => {
  const menus = Object.values(manifest.contributes.menus ?? {}).flat();
  const named = [
    ...menus.flatMap((entry) => entry.command ?? []),
    ...(manifest.contributes.keybindings ?? []).map((entry) => entry.command),
  ];
  assert.deepEqual(
    named.filter((command) => command.startsWith('parley.') && !ids.has(command)),
    [],
  );
});

test('the agent of a new session can be chosen in the bar that starts one', () => {
  const { 'view/title': bar = [] } = manifest.contributes.menus ?? {};
  const icons = bar.flatMap(({ command, group = '' }) => (group.startsWith('navigation') ? [command] : []));
  assert.deepEqual(icons.slice(0, 2), ['parley.newSession', 'parley.pickAgent']);
});

/** Commands that the code gives a function, by the keys of its tables. */
const commandsOf = (code: string): readonly string[] => [...code.matchAll(/^\s*'(parley\.\w+)':/gm)].map(([, id = '']) => id);

test('every command of the manifest has a function in the code, and every function its command in the manifest', () => {
  const given = new Set(sourcesUnder('src/editor').flatMap(({ code }) => commandsOf(code)));
  assert.deepEqual([...given].toSorted(), [...ids].toSorted());
  assert.deepEqual(commandsOf("  'parley.one': () => run('parley.two'),\n  'parley.three': go,\n"), ['parley.one', 'parley.three']);
});

test('every setting has a scope and a description', () => {
  for (const [name, setting] of Object.entries(settings)) {
    assert.match(name, /^parley\./);
    assert.ok(setting.scope !== undefined && scopes.includes(setting.scope), `${name}: scope ${setting.scope}`);
    assert.match(
      setting.description ?? setting.markdownDescription ?? '',
      /^%.+%$/,
      `${name}: the description is missing or not translated`,
    );
    const choices = setting.enumDescriptions ?? setting.markdownEnumDescriptions;
    if (setting.enum && choices) assert.equal(choices.length, setting.enum.length, `${name}: one description per choice`);
  }
});

/** The settings that the document does not name; a name that ends with .* stands for all below it. */
const undocumented = (names: readonly string[], text: string): readonly string[] => {
  const named = [...text.matchAll(/`(parley\.[\w.]+?)(\.\*)?`/g)].map(([, name = '', below]) => ({ name, below }));
  return names.filter((setting) => !named.some(({ name, below }) => (below ? setting.startsWith(`${name}.`) : setting === name)));
};

test('docs/settings.md lists every setting', () => {
  assert.deepEqual(undocumented(Object.keys(settings), readFileSync('docs/settings.md', 'utf8')), []);
  assert.deepEqual(undocumented(['parley.a', 'parley.b.c', 'parley.b', 'parley.d'], '`parley.a`, `parley.b.*`'), ['parley.b', 'parley.d']);
});

test('what could run a program or let one run is never taken from a workspace', () => {
  const dangerous = /agent|command|env|approv|allow|rule|model|key/i;
  for (const [name, setting] of Object.entries(settings)) {
    if (!dangerous.test(name)) continue;
    assert.ok(setting.scope === 'application' || setting.scope === 'machine', `${name} may be set by a workspace (scope ${setting.scope})`);
  }
});

test('the protocols a user can choose are those of the registry, each with a description', () => {
  const found: Choice[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'protocol' && typeof inner === 'object' && inner !== null && 'enum' in inner) found.push(inner as Choice);
      walk(inner);
    }
  };
  walk(settings);
  assert.ok(found.length > 0, 'no setting lets a user choose a protocol');
  for (const { enum: list, enumDescriptions } of found) {
    assert.deepEqual([...list].sort(), Object.keys(protocols).sort(), 'write the protocol into the enum of the setting in package.json');
    assert.deepEqual(
      enumDescriptions,
      list.map((protocol) => `%agents.protocol.${protocol}%`),
    );
  }
});

test('keys on macOS are those of the other systems with the command key', () => {
  for (const { command, key, mac } of manifest.contributes.keybindings ?? []) assert.equal(mac, key.replace('ctrl', 'cmd'), command);
});

test('activation waits for what the manifest contributes', () => {
  const { activationEvents } = JSON.parse(readFileSync('package.json', 'utf8')) as { activationEvents: readonly string[] };
  assert.ok(!activationEvents.includes('*'));
});
