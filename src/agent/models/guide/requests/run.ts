import { textOfRead } from '../files.ts';
import { call, fence, type GuideContext, type Request, type Script, sorry } from '../script.ts';

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

export const runRequest: Request = {
  match: (asked, scene) => {
    for (const form of BESIDE) {
      const c = form.exec(asked.spoken)?.groups?.c?.trim();
      if (c !== undefined && leavesRunning(scene)) return runBeside(scene, unquoted(c));
    }
    for (const form of COMMAND) {
      const c = form.exec(asked.spoken)?.groups?.c?.trim();
      if (c === undefined) continue;
      const script = SCRIPTS.find(({ words }) => words.test(c));
      return script ? runScript(scene, script.names) : run(scene, unquoted(c));
    }
    return undefined;
  },
};

/** Shows the changes that git reports. */
export const changesRequest: Request = {
  match: (asked, scene) =>
    /^(?:what(?:'s|’s| has| have)?(?: i)? changed|git status|show (?:me )?(?:the |my )?changes|(?:有|做了)(?:什么|哪些)(?:改动|更改|变化|变更)|(?:显示|查看)(?:改动|更改|变更))$/i.test(
      asked.masked,
    )
      ? run(scene, 'git status --short && git diff --stat')
      : undefined,
};

function* runScript(scene: GuideContext, names: readonly string[]): Script {
  const { say } = scene;
  const manifest = yield* call('ReadFile', { path: 'package.json' });
  const script = names.find((name) => scriptsIn(textOfRead(manifest.text).join('\n')).includes(name));
  if (script !== undefined) return yield* run(scene, script === 'test' ? 'npm test' : `npm run ${script}`);
  return say(
    `There is no package.json with a script \`${names[0]}\` here. Give me the command itself, for example: run \`make ${names[0]}\``,
    `这里没有带 \`${names[0]}\` 脚本的 package.json。请直接给出命令，例如：运行 \`make ${names[0]}\``,
  );
}

function* run(scene: GuideContext, command: string): Script {
  const { say } = scene;
  const result = yield* call('Shell', { command });
  if (result.rejected) return sorry(result, say);
  const output = result.text.trim();
  const lines = output.split('\n');
  const shown =
    lines.length > 60
      ? `${lines.slice(0, 20).join('\n')}\n... (${lines.length - 50} ${say('lines', '行')}) ...\n${lines.slice(-30).join('\n')}`
      : output;
  const head = result.isError
    ? say(`\`${command}\` failed. ${result.message}`, `\`${command}\` 失败。${ended(result.message)}`)
    : say(`\`${command}\` is done. ${result.message}`, `\`${command}\` 已完成。`);
  return output === '' ? head : `${head}\n\n${fence(shown)}`;
}

function leavesRunning({ offers }: GuideContext): boolean {
  const shell = offers.find((offer) => offer.name === 'Shell')?.parameters.properties;
  return typeof shell === 'object' && shell !== null && 'run_in_background' in shell;
}

function* runBeside({ say }: GuideContext, command: string): Script {
  const result = yield* call('Shell', { command, run_in_background: true });
  if (result.isError || result.rejected) return sorry(result, say);
  return say(`\`${command}\` goes on in the background. You hear of its end.`, `\`${command}\` 在后台继续运行。结束时会通知你。`);
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
