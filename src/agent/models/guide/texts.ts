import type { Localize } from '../../locale.ts';

export function connectText(say: Localize): string {
  return say(
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
export function footnote(say: Localize): string {
  return say(
    '\n\n---\n*I am the offline guide: fixed rules, not a language model. Ask “how do I connect a model?” for the real thing.*',
    '\n\n---\n*我是离线向导：只会固定的规则，不是大语言模型。想用真正的模型，请问我“如何连接模型？”。*',
  );
}

export function whoText(say: Localize): string {
  return say(
    'I am the **offline guide** of parley-agent. I am not a language model: I follow fixed rules and use the same tools a model would use.',
    '我是 parley-agent 的**离线向导**。我不是大语言模型：我按固定规则工作，使用的工具与模型使用的完全相同。',
  );
}
