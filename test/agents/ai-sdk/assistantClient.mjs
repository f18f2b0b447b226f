// A page with assistant-ui holds a conversation: node assistantClient.mjs FOLDER URL JSON, told and telling as officialClient.mjs is. Its own transport sends
// the tools and the system text of the page; its runtime runs the tools.
import { aiOf, load } from './library.mjs';

const [folder, url, text] = process.argv.slice(2);
const script = JSON.parse(text);
const { ai, version } = await aiOf(folder);
const React = await load(folder, 'react');
const { create } = await load(folder, 'react-test-renderer');
const { useChat } = await load(folder, '@ai-sdk/react');
const { AssistantChatTransport, useAISDKRuntime } = await load(folder, '@assistant-ui/react-ai-sdk');

const failures = [];
let chat;
let runtime;
const complete = (options) =>
  ai.lastAssistantMessageIsCompleteWithToolCalls(options) || (ai.lastAssistantMessageIsCompleteWithApprovalResponses?.(options) ?? false);
const tools = Object.fromEntries(
  Object.entries(script.tools).map(([name, tool]) => [name, { type: 'frontend', ...tool, execute: async () => script.outputs[name] }]),
);
const context = { getModelContext: () => ({ system: script.system, tools }), subscribe: () => () => {} };

function Page() {
  const transport = React.useMemo(() => new AssistantChatTransport({ api: url, headers: script.headers ?? {} }), []);
  chat = useChat({ id: script.id, transport, sendAutomaticallyWhen: complete, onError: (error) => failures.push(String(error)) });
  runtime = useAISDKRuntime(chat);
  transport.setRuntime(runtime);
  React.useEffect(() => runtime.registerModelContextProvider(context), []);
  return React.createElement('p', null, runtime.thread.getState().messages.length);
}

/** Settles when nothing more happens by itself: the user answers approvals as they come. */
async function settled() {
  for (let quiet = 0; quiet < 10; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const open = chat.messages.at(-1)?.parts.find((part) => part.state === 'approval-requested');
    if (open && chat.status === 'ready') {
      chat.addToolApprovalResponse({ id: open.approval.id, approved: script.approve, ...(script.reason ? { reason: script.reason } : {}) });
      quiet = 0;
    } else quiet = (chat.status === 'ready' || chat.status === 'error') && !runtime.thread.getState().isRunning ? quiet + 1 : 0;
  }
}

const page = create(React.createElement(Page));
while (runtime?.thread.getModelContext().tools === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
for (const prompt of script.prompts) {
  runtime.thread.append({ role: 'user', content: [{ type: 'text', text: prompt }] });
  await settled();
}
const { messages } = chat;
const shown = runtime.thread.getState().messages.length;
if (shown !== messages.length) failures.push(`${shown} of ${messages.length} messages are in the thread`);
page.unmount();
console.log(JSON.stringify({ version, messages, failures }));
process.exit(0);
