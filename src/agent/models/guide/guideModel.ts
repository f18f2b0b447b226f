import { splitChanges } from '../../../base/fileChangesTag.ts';
import { wordsOfNow } from '../../../base/promptText.ts';
import { type Localize, localize } from '../../locale.ts';
import {
  CONTINUE_PROMPT,
  type HistoryMessage,
  type Model,
  ModelError,
  type ModelPiece,
  type ModelRequest,
  type ToolMessage,
  textOf,
} from '../model.ts';
import { askedOf, localizeFor, type UserRequest } from './language.ts';
import { definitionRequest, diagnosticsRequest, editorsRequest, openRequest, referencesRequest } from './requests/editor.ts';
import { createRequest, last, listRequest, readRequest, replaceRequest } from './requests/files.ts';
import { explainRequest, findRequest, whereRequest } from './requests/find.ts';
import { changesRequest, planRequest, runRequest } from './requests/plan.ts';
import { call, type GuideContext, type GuideRequest, type GuideStep, linesOf, type Script, type ScriptPart } from './script.ts';

/**
 * The offline guide, which answers while no model is configured. Plain rules, the same answer to the same request every time, by calling the
 * same tools a language model would.
 */
export const guideModel: Model = {
  name: localize('offline guide', '离线向导'),
  contextSize: 200_000,
  offline: true,
  answer: async function* (request, signal) {
    signal.throwIfAborted();
    const asking = request.history.findLast((message) => message.role === 'user');
    const result = request.history.at(-1);
    const hasMedia = result?.role === 'tool' && result.media !== undefined;
    if (hasMedia || (asking?.role === 'user' && asking.parts.some((part) => part.type !== 'text'))) {
      throw new ModelError(
        'model_cannot',
        localize(
          'The offline guide cannot look at pictures or listen to sounds. Connect a model that can: Parley: Configure Model.',
          '离线向导无法查看图片或收听声音。请连接支持的模型：Parley: Configure Model。',
        ),
      );
    }
    yield* piecesOf(moveFor(request));
  },
};

function moveFor(request: ModelRequest): GuideStep {
  const { history } = request;
  const at = history.findLastIndex((message) => message.role === 'user');
  const asking = history[at];
  if (asking?.role !== 'user' || request.tools.length === 0) return { text: gist(history), calls: [] };
  // A command must not get what the user changed in files as more of its lines.
  const asked = askedOf(wordsOfNow(splitChanges(textOf(asking.parts)).words));
  const speak = localizeFor(asked.text);
  const context: GuideContext = { cwd: request.cwd, translate: speak, offers: request.tools, history: history.slice(0, at) };
  const done = resultsAfter(history.slice(at + 1));
  const first = !context.history.some((message) => message.role === 'user');
  return play(requests(asked, context), done, first ? footnote(speak) : '');
}

/** The script up to where the results end, and one move more. */
function play(script: Script, done: readonly (readonly ToolMessage[])[], closing: string): GuideStep {
  let next = script.next();
  for (const results of done) {
    if (next.done) break;
    next = script.next(results);
  }
  return next.done ? { text: next.value + closing, calls: [] } : next.value;
}

/** The results of each step of this turn, in the order of its calls. */
function resultsAfter(messages: readonly HistoryMessage[]): readonly (readonly ToolMessage[])[] {
  const steps: ToolMessage[][] = [];
  for (const message of messages) {
    if (message.role === 'assistant' && message.calls.length > 0) steps.push([]);
    if (message.role === 'tool') steps.at(-1)?.push(message);
  }
  return steps;
}

/** In small pieces, as a language model writes. */
function* piecesOf(move: GuideStep): Generator<ModelPiece> {
  for (const piece of move.text.match(/[\s\S]{1,24}(?=\s|$)|[\s\S]{1,24}/gu) ?? []) yield { type: 'text', text: piece };
  for (const { name, input } of move.calls) yield { type: 'call', call: { id: '', name, input: JSON.stringify(input) } };
}

/** Stands in for a summary: the requests themselves. */
function gist(history: readonly HistoryMessage[]): string {
  const text = history.map((message) => (message.role === 'user' ? textOf(message.parts) : '')).join('\n');
  const asked = text.match(/^USER: .*$/gm) ?? [];
  return asked.slice(-20).join('\n') || 'Nothing can be done without tools.';
}

const helpRequest: GuideRequest = {
  match: (asked, context) =>
    /^(?:hi|hello|hey|help|help me|\?|what can (?:you|i) (?:do|ask).*|how (?:do|can) i use (?:this|you|parley)|你好|您好|嗨|帮助|使用帮助|你(?:能|会|可以)(?:做|干)?(?:些)?什么|怎么用|如何使用)$/i.test(
      asked.masked === '' ? 'help' : asked.masked,
    )
      ? help(context)
      : undefined,
};

const whoRequest: GuideRequest = {
  match: (asked, { translate }) =>
    /^(?:who|what) are you$|^are you (?:an? |the )?(?:ai|llm|bot|(?:language )?model|real|gpt|human)\b|^你是(?:谁|什么|大?(?:语言)?模型|ai|llm|机器人)/i.test(
      asked.masked,
    )
      ? text(`${whoText(translate)}\n\n${connectText(translate)}`)
      : undefined,
};

const connectRequest: GuideRequest = {
  match: (asked, { translate }) =>
    /\b(?:connect|configure|set ?up|use|add|choose|switch)\b.*\b(?:model|llm|gpt|ollama|lm ?studio|vllm|openai|api key)\b/i.test(
      asked.masked,
    ) || /(?:连接|配置|设置|接入|使用|切换|添加|换).*(?:模型|llm|gpt|ollama|openai|密钥)/i.test(asked.masked)
      ? text(connectText(translate))
      : undefined,
};

/** The fallback: a short list of supported requests, with names from this workspace. */
function* notUnderstood(asked: UserRequest, context: GuideContext): Script {
  const { translate } = context;
  const shown = asked.text.length > 80 ? `${asked.text.slice(0, 80)}...` : asked.text;
  const examples = yield* examplesHere(context);
  return translate(
    `I did not understand “${shown}”. I am the offline guide, not a language model, and know only requests like these:\n\n${examples}\n\nFor free questions connect a model: settings \`parley.model.baseUrl\` and \`parley.model.name\`, or the command **Parley: Configure Model**.`,
    `我没有听懂“${shown}”。我是离线向导，不是大语言模型，只懂下面这类请求：\n\n${examples}\n\n要自由提问，请连接一个模型：设置 \`parley.model.baseUrl\` 和 \`parley.model.name\`，或运行命令 **Parley: Configure Model**。`,
  );
}

function* help(context: GuideContext): Script {
  const { translate } = context;
  const examples = yield* examplesHere(context);
  return translate(
    `${whoText(translate)}\n\nThings to try in this workspace:\n\n${examples}\n\nI ask before I change a file or run a command. To work with a real model: settings \`parley.model.baseUrl\` and \`parley.model.name\`, or **Parley: Configure Model**.`,
    `${whoText(translate)}\n\n在这个工作区里可以试试：\n\n${examples}\n\n修改文件或运行命令之前，我会先征求你的同意。要使用真正的模型：设置 \`parley.model.baseUrl\` 和 \`parley.model.name\`，或运行 **Parley: Configure Model**。`,
  );
}

function* examplesHere(context: GuideContext): ScriptPart<string> {
  const { translate } = context;
  const files = linesOf(yield* call('Glob', { pattern: '**/*' }));
  const code =
    files.find((path) => /(^|\/)src\/.*\.\w+$/.test(path)) ??
    files.find((path) => /\.(?:[cm]?[jt]sx?|py|go|rs|java|rb|c|cpp|cs|php)$/.test(path));
  const readme = files.find((path) => /^readme/i.test(path)) ?? files.find((path) => path.endsWith('.md')) ?? files[0];
  const folder = code?.includes('/') ? code.slice(0, code.indexOf('/')) : undefined;
  const command = files.includes('package.json') ? 'npm test' : 'git status';
  const rows = [
    readme === undefined ? undefined : translate(`read ${readme}`, `读取 ${readme}`),
    code === undefined ? undefined : translate(`explain ${code}`, `解释 ${code}`),
    folder === undefined ? translate('list files', '列出文件') : translate(`list files in ${folder}`, `列出 ${folder} 里的文件`),
    translate('find TODO', '查找 TODO'),
    readme === undefined
      ? undefined
      : translate(`replace "old text" with "new text" in ${last(readme)}`, `把 ${last(readme)} 里的“旧文字”替换成“新文字”`),
    translate('create file notes.md with "Hello"', '创建文件 notes.md 内容为“你好”'),
    translate(`run ${command}`, `运行 ${command}`),
    translate('make a plan: read the code; change it; run the tests', '制定计划：读代码；修改；运行测试'),
    translate('show problems', '显示问题'),
    code === undefined ? undefined : translate(`open ${code} at line 1`, `打开 ${code} 第 1 行`),
  ];
  return rows.flatMap((row) => (row === undefined ? [] : [`- \`${row}\``])).join('\n');
}

// biome-ignore lint/correctness/useYield: a script that has its answer at once
function* text(answer: string): Script {
  return answer;
}

const goOnRequest: GuideRequest = {
  match: ({ text: words }, { translate }) =>
    words === CONTINUE_PROMPT
      ? text(translate('What came of the calls stands above. Say what to do next.', '调用的结果在上面。请说接下来做什么。'))
      : undefined,
};

/** All requests that the guide understands, specific ones before general ones. */
const simple: readonly GuideRequest[] = [
  goOnRequest,
  helpRequest,
  whoRequest,
  connectRequest,
  createRequest,
  replaceRequest,
  runRequest,
  changesRequest,
  definitionRequest,
  referencesRequest,
  diagnosticsRequest,
  editorsRequest,
  listRequest,
  whereRequest,
  openRequest,
  readRequest,
  explainRequest,
  findRequest,
];

/** Longer than any request, without what is in quotes; a match over more of it could take long. */
const LONGEST = 1000;

/** Returns the script for a request, or the fallback for one not understood. */
function requests(asked: UserRequest, context: GuideContext): Script {
  if (asked.masked.length > LONGEST) return notUnderstood(asked, context);
  return planRequest(understood).match(asked, context) ?? understood(asked, context) ?? notUnderstood(asked, context);
}

function understood(asked: UserRequest, context: GuideContext): Script | undefined {
  for (const request of simple) {
    const script = request.match(asked, context);
    if (script) return script;
  }
  return undefined;
}

function connectText(translate: Localize): string {
  return translate(
    `Connect any OpenAI-compatible model (Ollama, LM Studio, vLLM, OpenAI, ...):

1. Run the command **Parley: Configure Model**, or set \`parley.model.baseUrl\` (for Ollama: \`http://127.0.0.1:11434/v1\`) and \`parley.model.name\` in the settings.
2. Give a key if the service wants one; it is kept in the editor's secret storage.
3. Begin a new session. Everything else stays as it is: the same tools, the same questions before anything is changed.`,
    `可以连接任何兼容 OpenAI 接口的模型（Ollama、LM Studio、vLLM、OpenAI 等）：

1. 运行命令 **Parley: Configure Model**（配置模型），或在设置中填写 \`parley.model.baseUrl\`（Ollama 为 \`http://127.0.0.1:11434/v1\`）和 \`parley.model.name\`。
2. 如果服务需要密钥，请一并填写；密钥保存在编辑器的机密存储中。
3. 新建一个会话即可。其余不变：同样的工具，修改之前同样会先征求你的同意。`,
  );
}

/** Shown once, at the end of the first answer. */
function footnote(translate: Localize): string {
  return translate(
    '\n\n---\n*I am the offline guide: fixed rules, not a language model. Ask “how do I connect a model?” for the real thing.*',
    '\n\n---\n*我是离线向导：只会固定的规则，不是大语言模型。想用真正的模型，请问我“如何连接模型？”。*',
  );
}

function whoText(translate: Localize): string {
  return translate(
    'I am the **offline guide** of parley-agent. I am not a language model: I follow fixed rules and use the same tools a model would use.',
    '我是 parley-agent 的**离线向导**。我不是大语言模型：我按固定规则工作，使用的工具与模型使用的完全相同。',
  );
}
