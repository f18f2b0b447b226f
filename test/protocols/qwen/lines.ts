/** Lines of the message dialect, as short as they may be. */
const lane = { session_id: 'S', uuid: 'u' };

export const ready = (id: string, payload: object = {}) => ({
  type: 'control_response',
  response: { subtype: 'success', request_id: id, response: { subtype: 'initialize', session_id: 'S', ...payload } },
});
export const init = (more: object = {}) => ({
  ...lane,
  type: 'system',
  subtype: 'init',
  cwd: '/w',
  model: 'm',
  permission_mode: 'default',
  slash_commands: ['clear', 'init'],
  qwen_code_version: '0.24.4',
  ...more,
});
export const event = (value: object, parent: string | null = null) => ({
  ...lane,
  type: 'stream_event',
  parent_tool_use_id: parent,
  event: value,
});
export const roundStart = (id = 'm1') => event({ type: 'message_start', message: { id } });
export const blockStart = (index: number, block: object) => event({ type: 'content_block_start', index, content_block: block });
export const delta = (index: number, value: object) => event({ type: 'content_block_delta', index, delta: value });
export const text = (index: number, words: string) => delta(index, { type: 'text_delta', text: words });
export const stop = (index: number) => event({ type: 'content_block_stop', index });
export const assistant = (content: readonly object[], more: object = {}) => ({
  ...lane,
  type: 'assistant',
  parent_tool_use_id: null,
  message: { id: 'm1', content, usage: { input_tokens: 0, output_tokens: 0 } },
  ...more,
});
export const use = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input });
export const result = (more: object = {}) => ({
  ...lane,
  type: 'result',
  subtype: 'success',
  is_error: false,
  duration_ms: 5,
  num_turns: 1,
  usage: { input_tokens: 1, output_tokens: 1 },
  permission_denials: [],
  ...more,
});
export const cancelled = () => result({ subtype: 'error_during_execution', is_error: true, error: { message: 'Operation cancelled.' } });
export const toolResult = (id: string, content: string, isError = false, more: object = {}) => ({
  ...lane,
  type: 'user',
  parent_tool_use_id: null,
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, is_error: isError, content }] },
  ...more,
});
export const permission = (id: string, callId: string, name: string, input: object, more: object = {}) => ({
  type: 'control_request',
  request_id: id,
  request: {
    subtype: 'can_use_tool',
    tool_name: name,
    tool_use_id: callId,
    input,
    permission_suggestions: [],
    blocked_path: null,
    ...more,
  },
});
