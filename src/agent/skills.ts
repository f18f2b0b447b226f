import { readdirSync, realpathSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readRealNow } from '../transport/realFiles.ts';
import type { Command } from './commands.ts';
import { localize } from './locale.ts';
import { isWithin } from './workspace/paths.ts';

export interface Skill {
  readonly name: string;
  readonly description: string;
  /** The SKILL.md. */
  readonly file: string;
  /** The folder it must lie in with every link followed; absent for the user's own folders. */
  readonly within?: string;
}

const FOLDERS = ['.agents/skills', '.parley/skills', '.kimi/skills', '.claude/skills'];
const MOST = 100;
const LONGEST = 64 * 1024;

/** The skills of the folders given, of the workspace and of the user: folders with a SKILL.md. The first of a name wins. */
export function findSkills(cwd: string, more: readonly string[] = [], home = os.homedir()): readonly Skill[] {
  const found = new Map<string, Skill>();
  const own = [...more, ...FOLDERS.map((name) => path.join(home, name))];
  const folders = [...more, ...[cwd, home].flatMap((base) => FOLDERS.map((name) => path.join(base, name)))];
  for (const folder of folders) {
    for (const skill of skillsIn(folder, own.includes(folder) ? undefined : cwd)) {
      if (!found.has(skill.name) && found.size < MOST) found.set(skill.name, skill);
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** `/skill:<name>`: its text becomes the prompt, with what the user wrote after it. */
export function skillCommands(skills: readonly Skill[]): readonly Command[] {
  return skills.map((skill) => ({
    name: `skill:${skill.name}`,
    description: skill.description,
    aliases: [],
    args: [{ name: 'task', description: localize('What to do with it', '用它来做什么') }],
    needsModel: true,
    run: async ({ args }) => {
      const text = read(skill.file, skill.within) ?? '';
      const folder = `The files of this skill are in ${path.dirname(skill.file)}.`;
      return `Follow this skill.\n\n<skill name="${skill.name}">\n${bodyOf(text)}\n</skill>\n${folder}${args === '' ? '' : `\n\n${args}`}`;
    },
  }));
}

/** For the system prompt: which skills there are. */
export function skillsText(skills: readonly Skill[]): string {
  const rows = skills.map((skill) => `- ${skill.name}: ${skill.description} (${skill.file})`);
  return rows.length === 0 ? '' : `Skills; read the file before you do work that one describes:\n${rows.join('\n')}`;
}

function skillsIn(folder: string, within: string | undefined): readonly Skill[] {
  return names(folder).flatMap((name): readonly Skill[] => {
    const file = path.join(folder, name, 'SKILL.md');
    const text = read(file, within);
    if (text === undefined || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) return [];
    const head = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1] ?? '';
    const field = (key: string): string | undefined => fieldOf(head, key);
    const given = field('name');
    return [
      {
        name: given !== undefined && /^[A-Za-z0-9_-]{1,64}$/.test(given) ? given : name,
        description: (field('description') ?? firstLine(bodyOf(text)) ?? name).slice(0, 300),
        file,
        ...(within === undefined ? {} : { within }),
      },
    ];
  });
}

/** The value of one line of the head, without quotes around it. */
function fieldOf(head: string, key: string): string | undefined {
  const line = head.split('\n').find((one) => one.startsWith(`${key}:`));
  const value = line?.slice(key.length + 1).trim() ?? '';
  const bare = /^["']/.test(value) ? value.slice(1) : value;
  return (/["']$/.test(bare) ? bare.slice(0, -1) : bare) || undefined;
}

function bodyOf(text: string): string {
  return text.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n?/, '').trim();
}

function firstLine(text: string): string | undefined {
  return text
    .split('\n')
    .map((line) => line.replace(/^#+\s*/, '').trim())
    .find((line) => line !== '');
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Does not follow a link in a workspace that leads out of it: the user has not allowed that. */
function read(file: string, within: string | undefined): string | undefined {
  try {
    const real = realpathSync(file);
    if (within !== undefined && !isWithin(realpathSync(within), real)) return undefined;
    return readRealNow(real, LONGEST);
  } catch {
    return undefined;
  }
}
