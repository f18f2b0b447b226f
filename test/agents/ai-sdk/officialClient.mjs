// The official client of a peer folder holds a conversation: node officialClient.mjs FOLDER URL JSON, where JSON is
// {id, prompts, tools, approve, reason}. Prints its final messages as JSON.
import { aiOf } from './library.mjs';

const [folder, url, text] = process.argv.slice(2);
const script = JSON.parse(text);
const { ai, version } = await aiOf(folder);

class Chat extends ai.AbstractChat {
  addOutput(output) {
    return (this.addToolOutput ?? this.addToolResult).call(this, output);
  }
}
const state = {
  status: 'ready',
  error: undefined,
  messages: [],
  pushMessage: (message) => state.messages.push(message),
  popMessage: () => state.messages.pop(),
  replaceMessage: (index, message) => {
    state.messages[index] = message;
  },
  snapshot: structuredClone,
};

let chat;
let busy = Promise.resolve();
const complete = (options) =>
  ai.lastAssistantMessageIsCompleteWithToolCalls(options) || (ai.lastAssistantMessageIsCompleteWithApprovalResponses?.(options) ?? false);
const failures = [];
chat = new Chat({
  id: script.id,
  state,
  transport: new ai.DefaultChatTransport({ api: url, headers: script.headers ?? {}, body: { tools: script.tools } }),
  sendAutomaticallyWhen: complete,
  onError: (error) => failures.push(String(error)),
  onToolCall: ({ toolCall }) => {
    if (toolCall.dynamic || !(toolCall.toolName in script.outputs)) return;
    const { toolName: tool, toolCallId } = toolCall;
    busy = busy.then(() => chat.addOutput({ tool, toolCallId, output: script.outputs[tool] }));
  },
});

/** Settles when nothing more happens by itself: the user answers approvals as they come. */
async function settled() {
  for (let quiet = 0; quiet < 5; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    await busy;
    const open = state.messages.at(-1)?.parts.find((part) => part.state === 'approval-requested');
    if (open && state.status === 'ready') {
      await chat.addToolApprovalResponse({
        id: open.approval.id,
        approved: script.approve,
        ...(script.reason ? { reason: script.reason } : {}),
      });
      quiet = 0;
    } else quiet = state.status === 'ready' || state.status === 'error' ? quiet + 1 : 0;
  }
}

for (const prompt of script.prompts) {
  await chat.sendMessage({ text: prompt });
  await settled();
}
console.log(JSON.stringify({ version, messages: state.messages, failures }));
