// A page with useChat holds a conversation: node reactClient.mjs FOLDER URL JSON, told and telling as officialClient.mjs is.
// `leaveAt` in the script: as soon as that text is there the page is gone, without a word. `resume`: it begins as a page that was loaded again.
import { aiOf, load } from './library.mjs';

const [folder, url, text] = process.argv.slice(2);
const script = JSON.parse(text);
const { ai, version } = await aiOf(folder);
const React = await load(folder, 'react');
const { create } = await load(folder, 'react-test-renderer');
const { useChat } = await load(folder, '@ai-sdk/react');

const failures = [];
let chat;
const complete = (options) =>
  ai.lastAssistantMessageIsCompleteWithToolCalls(options) || (ai.lastAssistantMessageIsCompleteWithApprovalResponses?.(options) ?? false);

function Page() {
  chat = useChat({
    id: script.id,
    ...(script.resume ? { resume: true, messages: script.messages } : {}),
    transport: React.useMemo(
      () => new ai.DefaultChatTransport({ api: url, headers: script.headers ?? {}, body: { tools: script.tools } }),
      [],
    ),
    sendAutomaticallyWhen: complete,
    onError: (error) => failures.push(String(error)),
    onToolCall: ({ toolCall: { dynamic, toolName: tool, toolCallId } }) => {
      if (dynamic || !(tool in script.outputs)) return;
      // Not awaited: the library says that would block it for ever.
      void (chat.addToolOutput ?? chat.addToolResult)({ tool, toolCallId, output: script.outputs[tool] });
    },
  });
  return React.createElement(
    'ol',
    null,
    chat.messages.map((message) => React.createElement('li', { key: message.id }, message.role)),
  );
}

function leaveAtText() {
  const said = chat.messages.at(-1)?.parts.some((part) => part.type === 'text' && part.text.includes(script.leaveAt));
  if (!said || chat.messages.at(-1).role !== 'assistant') return;
  console.log(JSON.stringify({ version, messages: chat.messages, failures }));
  process.exit(0);
}

/** Settles when nothing more happens by itself: the user answers approvals as they come. */
async function settled() {
  for (let quiet = 0; quiet < 5; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const open = chat.messages.at(-1)?.parts.find((part) => part.state === 'approval-requested');
    if (open && chat.status === 'ready') {
      chat.addToolApprovalResponse({
        id: open.approval.id,
        approved: script.approve,
        ...(script.reason ? { reason: script.reason } : {}),
      });
      quiet = 0;
    } else quiet = chat.status === 'ready' || chat.status === 'error' ? quiet + 1 : 0;
  }
}

const page = create(React.createElement(Page));
if (script.leaveAt) setInterval(leaveAtText, 5);
while (!chat) await new Promise((resolve) => setTimeout(resolve, 5));
for (const prompt of script.prompts) {
  chat.sendMessage({ text: prompt });
  await settled();
}
if (script.leaveAt) await new Promise(() => {});
const { messages } = chat;
const shown = page.root.findAllByType('li').length;
if (shown !== messages.length) failures.push(`${shown} of ${messages.length} messages are on the page`);
page.unmount();
console.log(JSON.stringify({ version, messages, failures }));
