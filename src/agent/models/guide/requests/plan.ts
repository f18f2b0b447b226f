import { stripVTControlCharacters } from 'node:util';
import * as z from 'zod/mini';
import type { HistoryMessage } from '../../model.ts';
import { hitsOf } from '../hits.ts';
import { askedOf, type UserRequest } from '../language.ts';
import { call, fence, type GuideContext, type GuideRequest, linesOf, type Script, type ScriptPart, sorry } from '../script.ts';
import { last, textOfRead } from './files.ts';

type RequestReader = (asked: UserRequest, context: GuideContext) => Script | undefined;
type Status = 'pending' | 'in_progress' | 'done';
interface PlanStep {
  readonly title: string;
  readonly status: Status;
}

const PLAN: readonly RegExp[] = [
  /^(?:make|create|draw up|write|give me|set up)?(?: ?(?:a|the|me a|an?))?(?: (?:short|todo|to-do|step by step))? ?(?:plan|todo list|to-do list)\b(?: of)? ?[:,-]? ?(?:to|for|of|how to|:)? ?(?<g>[\s\S]*)$/i,
  /^(?:制定|做|写|列|拟定?|给)?\s*(?:出|我)?(?:一?个|一份|份)?(?:详细)?(?:计划|待办(?:列表|清单)?|规划)\s*[:：,，]?\s*(?<g>[\s\S]*)$/,
  /^(?:为|给)\s*(?<g>[\s\S]+?)\s*(?:制定|做|写|列)\s*(?:出)?(?:一?个|一份)?计划$/,
];
const NEXT = /^(?:next|continue|go on|proceed|(?:do |run )?(?:the )?next step|下一步|继续|执行下一步|做下一步)$/i;
const NUMBERED = /^(?:do|run|execute|start)?(?: the)? ?step (?<n>\d+)$|^(?:执行|做|开始|进行)?\s*第\s*(?<m>\d+)\s*步$/i;

/** Makes a plan, and works through it step by step; each step is understood like a request of its own. */
export function planRequest(understand: RequestReader): GuideRequest {
  return {
    match: (asked, context) => {
      const numbered = NUMBERED.exec(asked.masked)?.groups;
      if (numbered) return step(context, understand, Number(numbered.n ?? numbered.m) - 1);
      if (NEXT.test(asked.masked)) return step(context, understand, undefined);
      for (const form of PLAN) {
        const g = form.exec(asked.masked)?.groups?.g;
        if (g !== undefined) return make(context, understand, asked.plain(g));
      }
      return undefined;
    },
  };
}

function* make(context: GuideContext, understand: RequestReader, goal: string): Script {
  const { translate } = context;
  if (goal === '')
    return translate(
      'A plan for what? Say “plan: read README.md; find TODO; run the tests”, or “make a plan to rename X”.',
      '要做什么的计划？可以说“制定计划：读取 README.md；查找 TODO；运行测试”，或“制定计划：重命名 X”。',
    );
  const given = stepsIn(goal);
  const titles = given.length > 1 ? given : yield* propose(context, goal);
  const steps = titles.map((title): PlanStep => ({ title, status: 'pending' }));
  const result = yield* call('SetTodoList', { todos: steps });
  if (result.isError) return sorry(result, translate);
  const rows = titles.map(
    (title, at) => `${at + 1}. ${title}${canDo(context, understand, title) ? '' : translate(' *(yours)*', ' *（由你完成）*')}`,
  );
  return `${translate('The plan:', '计划：')}\n\n${rows.join('\n')}\n\n${translate('Say “next” to do the first step, or “do step 2”.', '说“下一步”开始第一步，或“执行第 2 步”。')}`;
}

/** Does one step of the plan made last, or the first that is not done. */
function* step(context: GuideContext, understand: RequestReader, wanted: number | undefined): Script {
  const { translate } = context;
  const steps = lastPlan(context.history);
  if (steps.length === 0)
    return translate(
      'There is no plan yet. Say “make a plan: read README.md; run the tests”.',
      '还没有计划。可以说“制定计划：读取 README.md；运行测试”。',
    );
  const at = wanted ?? steps.findIndex((one) => one.status !== 'done');
  const current = steps[at];
  if (!current)
    return wanted === undefined
      ? translate('Every step of the plan is done.', '计划的所有步骤都已完成。')
      : translate(`The plan has ${steps.length} steps.`, `计划只有 ${steps.length} 步。`);
  yield* call('SetTodoList', { todos: mark(steps, at, 'in_progress') });
  const script = understand(askedOf(current.title), context);
  if (!script) {
    yield* call('SetTodoList', { todos: mark(steps, at, 'done') });
    return translate(
      `Step ${at + 1}, “${current.title}”, is one for you (or a language model): I know only plain requests. I marked it done; say “next” for the step after it.`,
      `第 ${at + 1} 步“${current.title}”需要由你（或大语言模型）来做：我只懂简单的请求。我已把它标为完成，说“下一步”继续。`,
    );
  }
  const answer = yield* script;
  const after = mark(steps, at, 'done');
  yield* call('SetTodoList', { todos: after });
  const left = after.findIndex((one) => one.status !== 'done');
  const next = after[left];
  const closing = next
    ? translate(`Next is step ${left + 1}: ${next.title}. Say “next”.`, `接下来是第 ${left + 1} 步：${next.title}。说“下一步”继续。`)
    : translate('That was the last step.', '这是最后一步。');
  return `**${translate(`Step ${at + 1}`, `第 ${at + 1} 步`)}: ${current.title}**\n\n${answer}\n\n${closing}`;
}

/** A plan fitted to what the workspace has: read what mentions the goal, make the change, run the tests. */
function* propose(context: GuideContext, goal: string): ScriptPart<readonly string[]> {
  const { translate } = context;
  const word = keyword(goal);
  const files = linesOf(yield* call('Glob', { pattern: '**/*' }));
  const hits = word === undefined ? [] : hitsOf(yield* call('Grep', { pattern: word, literal: true, ignore_case: true, max_results: 50 }));
  const mentioned = [...new Set(hits.map((hit) => hit.path))].slice(0, 3);
  const named = word === undefined ? [] : files.filter((file) => last(file).toLowerCase().includes(word.toLowerCase())).slice(0, 2);
  const reads = [...new Set([...named, ...mentioned])].slice(0, 3);
  const start =
    reads.length > 0 ? reads.map((file) => translate(`Read ${file}`, `读取 ${file}`)) : [translate('Explain this project', '介绍这个项目')];
  const test = files.includes('package.json') ? [translate('Run the tests', '运行测试')] : [];
  return [...start, goal.charAt(0).toUpperCase() + goal.slice(1), ...test, translate('What changed?', '有哪些改动')];
}

function canDo(context: GuideContext, understand: RequestReader, title: string): boolean {
  return understand(askedOf(title), context) !== undefined;
}

function mark(steps: readonly PlanStep[], at: number, status: Status): readonly PlanStep[] {
  return steps.map((one, index) => (index === at ? { ...one, status } : one));
}

/** Steps a user has written out: numbered or bulleted lines, or parts with semicolons between them. */
function stepsIn(goal: string): readonly string[] {
  const rows = goal.includes('\n') ? goal.split('\n') : goal.split(/\s*[;；]\s*|\s*,?\s*\bthen\b\s*|\s*[，,]?然后\s*/);
  return rows.map((row) => row.replace(/^\s*(?:[-*]|\d+[.)、])\s*/, '').trim()).filter((row) => row !== '');
}

const FILLER = new Set(
  'a an the to of in for and or with from into add make change fix new file files code all rename remove update write project this that my our'.split(
    ' ',
  ),
);

/** The word of the goal to look for: something like a name first, else the longest. */
function keyword(goal: string): string | undefined {
  const words = (goal.match(/[A-Za-z_$][\w$.-]*/g) ?? []).filter((word) => !FILLER.has(word.toLowerCase()));
  return words.find((word) => /[A-Z_.$\d]/.test(word.slice(1))) ?? words.toSorted((a, b) => b.length - a.length)[0];
}

const planInput = z.object({ todos: z.array(z.object({ title: z.string(), status: z.enum(['pending', 'in_progress', 'done']) })) });

function lastPlan(history: readonly HistoryMessage[]): readonly PlanStep[] {
  for (const message of history.toReversed()) {
    if (message.role !== 'assistant') continue;
    const found = message.calls.findLast((one) => one.name === 'SetTodoList');
    if (!found) continue;
    try {
      const parsed = planInput.safeParse(JSON.parse(found.input));
      if (parsed.success) return parsed.data.todos;
    } catch {
      // Not one of the guide's plans; an earlier one may be.
    }
  }
  return [];
}

const COMMAND: readonly RegExp[] = [
  /^(?:run|execute|exec)(?: the)?(?: command)?:? (?<c>[\s\S]+)$/i,
  /^[$!] ?(?<c>[\s\S]+)$/,
  /^(?:运行|执行|跑一?下|跑)\s*(?:一?下)?\s*(?:命令)?\s*[:：]?\s*(?<c>[\s\S]+)$/,
];
const BESIDE: readonly RegExp[] = [
  /^(?:run|start|execute) (?<c>[\s\S]+?) in the background$/i,
  /^在?后台(?:运行|执行|启动)\s*[:：]?\s*(?<c>[\s\S]+)$/,
];
const SCRIPTS: readonly { readonly words: RegExp; readonly names: readonly string[] }[] = [
  { words: /^(?:my |all )?(?:unit )?tests?(?: suite)?$|^(?:所有|全部|单元)?测试$/i, names: ['test'] },
  { words: /^build$|^(?:构建|编译)$/i, names: ['build', 'compile'] },
  { words: /^lint(?:er)?$|^(?:代码)?检查$/i, names: ['lint', 'check'] },
];

export const runRequest: GuideRequest = {
  match: (asked, context) => {
    for (const form of BESIDE) {
      const c = form.exec(asked.spoken)?.groups?.c?.trim();
      if (c !== undefined && leavesRunning(context)) return runBeside(context, unquoted(c));
    }
    for (const form of COMMAND) {
      const c = form.exec(asked.spoken)?.groups?.c?.trim();
      if (c === undefined) continue;
      const script = SCRIPTS.find(({ words }) => words.test(c));
      return script ? runScript(context, script.names) : run(context, unquoted(c));
    }
    return undefined;
  },
};

/** Shows the changes that git reports. */
export const changesRequest: GuideRequest = {
  match: (asked, context) =>
    /^(?:what(?:'s|’s| has| have)?(?: i)? changed|git status|show (?:me )?(?:the |my )?changes|(?:有|做了)(?:什么|哪些)(?:改动|更改|变化|变更)|(?:显示|查看)(?:改动|更改|变更))$/i.test(
      asked.masked,
    )
      ? run(context, 'git status --short && git diff --stat')
      : undefined,
};

function* runScript(context: GuideContext, names: readonly string[]): Script {
  const { translate } = context;
  const manifest = yield* call('ReadFile', { path: 'package.json' });
  const script = names.find((name) => scriptsIn(textOfRead(manifest.text).join('\n')).includes(name));
  if (script !== undefined) return yield* run(context, script === 'test' ? 'npm test' : `npm run ${script}`);
  return translate(
    `There is no package.json with a script \`${names[0]}\` here. Give me the command itself, for example: run \`make ${names[0]}\``,
    `这里没有带 \`${names[0]}\` 脚本的 package.json。请直接给出命令，例如：运行 \`make ${names[0]}\``,
  );
}

function* run(context: GuideContext, command: string): Script {
  const { translate } = context;
  const result = yield* call('Shell', { command });
  if (result.rejected) return sorry(result, translate);
  const output = stripVTControlCharacters(result.text).trim();
  const lines = output.split('\n');
  const shown =
    lines.length > 60
      ? `${lines.slice(0, 20).join('\n')}\n... (${lines.length - 50} ${translate('lines', '行')}) ...\n${lines.slice(-30).join('\n')}`
      : output;
  const head = result.isError
    ? translate(`\`${command}\` failed. ${result.message}`, `\`${command}\` 失败。${ended(result.message)}`)
    : translate(`\`${command}\` is done. ${result.message}`, `\`${command}\` 已完成。`);
  return output === '' ? head : `${head}\n\n${fence(shown)}`;
}

function leavesRunning({ offers }: GuideContext): boolean {
  const shell = offers.find((offer) => offer.name === 'Shell')?.parameters.properties;
  return typeof shell === 'object' && shell !== null && 'run_in_background' in shell;
}

function* runBeside({ translate }: GuideContext, command: string): Script {
  const result = yield* call('Shell', { command, run_in_background: true });
  if (result.isError || result.rejected) return sorry(result, translate);
  return translate(`\`${command}\` goes on in the background. You hear of its end.`, `\`${command}\` 在后台继续运行。结束时会通知你。`);
}

/** How a command ended, in Chinese. */
function ended(message: string): string {
  const code = /Exit code (\d+)/.exec(message)?.[1];
  const seconds = /Ended after (\d+) s/.exec(message)?.[1];
  return code !== undefined ? `退出码 ${code}。` : seconds !== undefined ? `超过 ${seconds} 秒，已结束。` : message;
}

/** A command given in quotes or a fence as a whole. Quotes inside a command belong to it. */
function unquoted(text: string): string {
  const fenced = /^```[^\n`]*\n([\s\S]*?)\n?```$/.exec(text)?.[1];
  const quoted = /^(?:`([^`]+)`|“([^”]+)”|「([^」]+)」|"([^"]+)"|'([^']+)')$/.exec(text);
  return (fenced ?? quoted?.slice(1).find((group) => group !== undefined) ?? text).trim();
}

function scriptsIn(manifest: string): readonly string[] {
  try {
    const parsed: unknown = JSON.parse(manifest);
    if (typeof parsed !== 'object' || parsed === null || !('scripts' in parsed)) return [];
    return typeof parsed.scripts === 'object' && parsed.scripts !== null ? Object.keys(parsed.scripts) : [];
  } catch {
    return [];
  }
}
