import { last } from '../files.ts';
import type { Asked } from '../language.ts';
import { call, type GuideContext, linesOf, type Part, type Request, type Script } from '../script.ts';
import { connectText, whoText } from '../texts.ts';

export const helpRequest: Request = {
  match: (asked, scene) =>
    /^(?:hi|hello|hey|help|help me|\?|what can (?:you|i) (?:do|ask).*|how (?:do|can) i use (?:this|you|parley)|你好|您好|嗨|帮助|使用帮助|你(?:能|会|可以)(?:做|干)?(?:些)?什么|怎么用|如何使用)$/i.test(
      asked.masked === '' ? 'help' : asked.masked,
    )
      ? help(scene)
      : undefined,
};

export const whoRequest: Request = {
  match: (asked, { say }) =>
    /^(?:who|what) are you$|^are you (?:an? |the )?(?:ai|llm|bot|(?:language )?model|real|gpt|human)\b|^你是(?:谁|什么|大?(?:语言)?模型|ai|llm|机器人)/i.test(
      asked.masked,
    )
      ? text(`${whoText(say)}\n\n${connectText(say)}`)
      : undefined,
};

export const connectRequest: Request = {
  match: (asked, { say }) =>
    /\b(?:connect|configure|set ?up|use|add|choose|switch)\b.*\b(?:model|llm|gpt|ollama|lm ?studio|vllm|openai|api key)\b/i.test(
      asked.masked,
    ) || /(?:连接|配置|设置|接入|使用|切换|添加|换).*(?:模型|llm|gpt|ollama|openai|密钥)/i.test(asked.masked)
      ? text(connectText(say))
      : undefined,
};

/** The last resort: a short list of what would be understood here, with names from this workspace. */
export function* notUnderstood(asked: Asked, scene: GuideContext): Script {
  const { say } = scene;
  const shown = asked.text.length > 80 ? `${asked.text.slice(0, 80)}...` : asked.text;
  const examples = yield* examplesHere(scene);
  return say(
    `I did not understand “${shown}”. I am the offline guide, not a language model, and know only requests like these:\n\n${examples}\n\nFor free questions connect a model: settings \`parley.model.baseUrl\` and \`parley.model.name\`, or the command **Parley: Configure Model**.`,
    `我没有听懂“${shown}”。我是离线向导，不是大语言模型，只懂下面这类请求：\n\n${examples}\n\n要自由提问，请连接一个模型：设置 \`parley.model.baseUrl\` 和 \`parley.model.name\`，或运行命令 **Parley: Configure Model**。`,
  );
}

function* help(scene: GuideContext): Script {
  const { say } = scene;
  const examples = yield* examplesHere(scene);
  return say(
    `${whoText(say)}\n\nThings to try in this workspace:\n\n${examples}\n\nI ask before I change a file or run a command. To work with a real model: settings \`parley.model.baseUrl\` and \`parley.model.name\`, or **Parley: Configure Model**.`,
    `${whoText(say)}\n\n在这个工作区里可以试试：\n\n${examples}\n\n修改文件或运行命令之前，我会先征求你的同意。要使用真正的模型：设置 \`parley.model.baseUrl\` 和 \`parley.model.name\`，或运行 **Parley: Configure Model**。`,
  );
}

function* examplesHere(scene: GuideContext): Part<string> {
  const { say } = scene;
  const files = linesOf(yield* call('Glob', { pattern: '**/*' }));
  const code =
    files.find((path) => /(^|\/)src\/.*\.\w+$/.test(path)) ??
    files.find((path) => /\.(?:[cm]?[jt]sx?|py|go|rs|java|rb|c|cpp|cs|php)$/.test(path));
  const readme = files.find((path) => /^readme/i.test(path)) ?? files.find((path) => path.endsWith('.md')) ?? files[0];
  const folder = code?.includes('/') ? code.slice(0, code.indexOf('/')) : undefined;
  const command = files.includes('package.json') ? 'npm test' : 'git status';
  const rows = [
    readme === undefined ? undefined : say(`read ${readme}`, `读取 ${readme}`),
    code === undefined ? undefined : say(`explain ${code}`, `解释 ${code}`),
    folder === undefined ? say('list files', '列出文件') : say(`list files in ${folder}`, `列出 ${folder} 里的文件`),
    say('find TODO', '查找 TODO'),
    readme === undefined
      ? undefined
      : say(`replace "old text" with "new text" in ${last(readme)}`, `把 ${last(readme)} 里的“旧文字”替换成“新文字”`),
    say('create file notes.md with "Hello"', '创建文件 notes.md 内容为“你好”'),
    say(`run ${command}`, `运行 ${command}`),
    say('make a plan: read the code; change it; run the tests', '制定计划：读代码；修改；运行测试'),
    say('show problems', '显示问题'),
    code === undefined ? undefined : say(`open ${code} at line 1`, `打开 ${code} 第 1 行`),
  ];
  return rows.flatMap((row) => (row === undefined ? [] : [`- \`${row}\``])).join('\n');
}

// biome-ignore lint/correctness/useYield: a script that has its answer at once
function* text(answer: string): Script {
  return answer;
}
