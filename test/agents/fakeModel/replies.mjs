// One scripted turn, said in the words of each model API.
import { randomUUID } from 'node:crypto';

const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
export const json = (res, code, o, h = {}) => {
  res.writeHead(code, { 'content-type': 'application/json', ...h });
  res.end(JSON.stringify(o));
};
const pieces = (s, n) => {
  const out = [];
  const cp = Array.from(s ?? '');
  for (let i = 0; i < cp.length; i += n) out.push(cp.slice(i, i + n).join(''));
  return out;
};
export const est = (s) => Math.max(1, Math.ceil((s?.length ?? 0) / 4));

class Sse {
  constructor(res, headers = {}) {
    this.res = res;
    this.dead = false;
    res.on('close', () => {
      this.dead = true;
    });
    res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', connection: 'keep-alive', ...headers });
  }
  data(o, event) {
    if (this.dead) return;
    this.res.write((event ? `event: ${event}\n` : '') + `data: ${typeof o === 'string' ? o : JSON.stringify(o)}\n\n`);
  }
  end() {
    if (!this.dead) this.res.end();
  }
}

async function hold(c) {
  while (!c.dead()) await sleep(50);
}
async function tail(c) {
  if (c.turn.disconnect) {
    c.res.destroy();
    return true;
  }
  if (c.turn.hang || c.turn.hangAfterText) {
    await hold(c);
    return true;
  }
  return false;
}

export async function sendChat(c) {
  const { res, body, turn, calls, model, usage } = c;
  const base = { id: 'chatcmpl-' + randomUUID().slice(0, 12), created: Math.floor(Date.now() / 1000), model };
  const u = { prompt_tokens: usage.in, completion_tokens: usage.out, total_tokens: usage.in + usage.out };
  const fin = turn.stop ?? (calls.length ? 'tool_calls' : 'stop');
  const toolCalls = calls.map((k) => ({
    id: k.id,
    type: 'function',
    function: { name: k.name, arguments: JSON.stringify(k.args ?? { input: k.input }) },
  }));
  if (!body.stream) {
    if (turn.hang) return hold(c);
    return json(res, 200, {
      ...base,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: turn.text ?? null,
            ...(turn.thinking ? { reasoning_content: turn.thinking } : {}),
            ...(toolCalls.length ? { tool_calls: toolCalls } : {}),
          },
          finish_reason: fin,
        },
      ],
      usage: u,
    });
  }
  const s = new Sse(res);
  const ch = (delta, finish_reason = null) =>
    s.data({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] });
  ch({ role: 'assistant', content: '' });
  for (const x of pieces(turn.thinking, c.chunk)) {
    ch({ reasoning_content: x });
    if (c.gap) await sleep(c.gap);
  }
  for (const x of pieces(turn.text, c.chunk)) {
    ch({ content: x });
    if (c.gap) await sleep(c.gap);
  }
  if (await tail(c)) return;
  for (const [i, k] of toolCalls.entries()) {
    ch({ tool_calls: [{ index: i, id: k.id, type: 'function', function: { name: k.function.name, arguments: '' } }] });
    for (const x of pieces(k.function.arguments, c.chunk * 4)) {
      ch({ tool_calls: [{ index: i, function: { arguments: x } }] });
      if (c.gap) await sleep(c.gap);
    }
  }
  ch({}, fin);
  s.data({ ...base, object: 'chat.completion.chunk', choices: [], usage: u });
  s.data('[DONE]');
  s.end();
}

export async function sendAnthropic(c) {
  const { res, body, turn, calls, model, usage } = c;
  const id = 'msg_' + randomUUID().replace(/-/g, '').slice(0, 24);
  const stop = turn.stop ?? (calls.length ? 'tool_use' : 'end_turn');
  const u = {
    input_tokens: usage.in,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: usage.out,
    service_tier: 'standard',
  };
  const blocks = [];
  if (turn.thinking) blocks.push({ type: 'thinking', thinking: turn.thinking, signature: 'ZmFrZQ==' });
  if (turn.text) blocks.push({ type: 'text', text: turn.text });
  for (const k of calls) blocks.push({ type: 'tool_use', id: k.id, name: k.name, input: k.args ?? {} });
  if (!body.stream) {
    if (turn.hang) return hold(c);
    return json(res, 200, {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: blocks,
      stop_reason: stop,
      stop_sequence: null,
      usage: u,
    });
  }
  const s = new Sse(res, { 'request-id': 'req_fake' });
  const ev = (type, o) => s.data({ type, ...o }, type);
  ev('message_start', {
    message: {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...u, output_tokens: 1 },
    },
  });
  ev('ping', {});
  for (const [index, b] of blocks.entries()) {
    if (b.type === 'thinking') {
      ev('content_block_start', { index, content_block: { type: 'thinking', thinking: '', signature: '' } });
      for (const x of pieces(b.thinking, c.chunk)) {
        ev('content_block_delta', { index, delta: { type: 'thinking_delta', thinking: x } });
        if (c.gap) await sleep(c.gap);
      }
      ev('content_block_delta', { index, delta: { type: 'signature_delta', signature: b.signature } });
    } else if (b.type === 'text') {
      ev('content_block_start', { index, content_block: { type: 'text', text: '' } });
      for (const x of pieces(b.text, c.chunk)) {
        ev('content_block_delta', { index, delta: { type: 'text_delta', text: x } });
        if (c.gap) await sleep(c.gap);
      }
      if (await tail(c)) return;
    } else {
      ev('content_block_start', { index, content_block: { type: 'tool_use', id: b.id, name: b.name, input: {} } });
      for (const x of pieces(JSON.stringify(b.input), c.chunk * 4)) {
        ev('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: x } });
        if (c.gap) await sleep(c.gap);
      }
    }
    ev('content_block_stop', { index });
  }
  if (await tail(c)) return;
  ev('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage: u });
  ev('message_stop', {});
  s.end();
}

export async function sendGemini(c) {
  const { res, url, turn, calls, model, usage } = c;
  const um = { promptTokenCount: usage.in, candidatesTokenCount: usage.out, totalTokenCount: usage.in + usage.out };
  const responseId = randomUUID().slice(0, 12);
  const wrap = (parts, fin) => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...(fin ? { finishReason: fin } : {}) }],
    usageMetadata: um,
    modelVersion: model,
    responseId,
  });
  const fin = turn.stop ?? 'STOP';
  const callParts = calls.map((k) => ({ functionCall: { id: k.id, name: k.name, args: k.args ?? {} }, thoughtSignature: 'ZmFrZQ==' }));
  const all = [];
  if (turn.thinking) all.push({ text: turn.thinking, thought: true });
  if (turn.text) all.push({ text: turn.text });
  all.push(...callParts);
  if (!/stream/.test(url.pathname)) {
    if (turn.hang) return hold(c);
    return json(res, 200, wrap(all, fin));
  }
  if (url.searchParams.get('alt') !== 'sse') return json(res, 200, [wrap(all, fin)]);
  const s = new Sse(res);
  for (const x of pieces(turn.thinking, c.chunk * 4)) {
    s.data(wrap([{ text: x, thought: true }]));
    if (c.gap) await sleep(c.gap);
  }
  for (const x of pieces(turn.text, c.chunk)) {
    s.data(wrap([{ text: x }]));
    if (c.gap) await sleep(c.gap);
  }
  if (await tail(c)) return;
  if (callParts.length) s.data(wrap(callParts, fin));
  else s.data(wrap([{ text: '' }], fin));
  s.end();
}

export async function sendResponses(c) {
  const { res, body, turn, calls, model, usage } = c;
  const rid = 'resp_' + randomUUID().replace(/-/g, '');
  const u = {
    input_tokens: usage.in,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: usage.out,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.in + usage.out,
  };
  const output = [];
  if (turn.thinking)
    output.push({
      type: 'reasoning',
      id: 'rs_' + rid.slice(5, 17),
      summary: [{ type: 'summary_text', text: turn.thinking }],
      encrypted_content: 'ZmFrZQ==',
    });
  if (turn.text)
    output.push({
      type: 'message',
      id: 'msg_' + rid.slice(5, 17),
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: turn.text, annotations: [] }],
    });
  for (const k of calls) {
    const ns = k.ns ? { namespace: k.ns } : {};
    if (k.custom)
      output.push({
        type: 'custom_tool_call',
        id: 'ctc_' + k.id.slice(5),
        call_id: k.id,
        name: k.name,
        input: k.input ?? '',
        status: 'completed',
        ...ns,
      });
    else
      output.push({
        type: 'function_call',
        id: 'fc_' + k.id.slice(5),
        call_id: k.id,
        name: k.name,
        arguments: JSON.stringify(k.args ?? {}),
        status: 'completed',
        ...ns,
      });
  }
  const resp = (status, out, extra = {}) => ({
    id: rid,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status,
    model,
    output: out,
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    usage: status === 'completed' ? u : null,
    ...extra,
  });
  if (!body.stream) {
    if (turn.hang) return hold(c);
    return json(res, 200, resp('completed', output));
  }
  const s = new Sse(res);
  let sn = 0;
  const ev = (type, o) => s.data({ type, sequence_number: sn++, ...o }, type);
  ev('response.created', { response: resp('in_progress', []) });
  ev('response.in_progress', { response: resp('in_progress', []) });
  for (const [output_index, it] of output.entries()) {
    const open =
      it.type === 'message'
        ? { ...it, status: 'in_progress', content: [] }
        : it.type === 'function_call'
          ? { ...it, status: 'in_progress', arguments: '' }
          : it.type === 'custom_tool_call'
            ? { ...it, status: 'in_progress', input: '' }
            : { ...it, summary: [] };
    ev('response.output_item.added', { output_index, item: open });
    if (it.type === 'message') {
      ev('response.content_part.added', {
        item_id: it.id,
        output_index,
        content_index: 0,
        part: { type: 'output_text', text: '', annotations: [] },
      });
      for (const x of pieces(turn.text, c.chunk)) {
        ev('response.output_text.delta', { item_id: it.id, output_index, content_index: 0, delta: x });
        if (c.gap) await sleep(c.gap);
      }
      if (turn.hangAfterText || turn.hang || turn.disconnect) {
        if (await tail(c)) return;
      }
      ev('response.output_text.done', { item_id: it.id, output_index, content_index: 0, text: turn.text });
      ev('response.content_part.done', { item_id: it.id, output_index, content_index: 0, part: it.content[0] });
    } else if (it.type === 'reasoning') {
      ev('response.reasoning_summary_part.added', {
        item_id: it.id,
        output_index,
        summary_index: 0,
        part: { type: 'summary_text', text: '' },
      });
      for (const x of pieces(turn.thinking, c.chunk))
        ev('response.reasoning_summary_text.delta', { item_id: it.id, output_index, summary_index: 0, delta: x });
      ev('response.reasoning_summary_text.done', { item_id: it.id, output_index, summary_index: 0, text: turn.thinking });
      ev('response.reasoning_summary_part.done', { item_id: it.id, output_index, summary_index: 0, part: it.summary[0] });
    } else if (it.type === 'function_call') {
      for (const x of pieces(it.arguments, c.chunk * 4)) {
        ev('response.function_call_arguments.delta', { item_id: it.id, output_index, delta: x });
        if (c.gap) await sleep(c.gap);
      }
      ev('response.function_call_arguments.done', { item_id: it.id, output_index, arguments: it.arguments });
    } else if (it.type === 'custom_tool_call') {
      for (const x of pieces(it.input, c.chunk * 4)) {
        ev('response.custom_tool_call_input.delta', { item_id: it.id, output_index, delta: x });
        if (c.gap) await sleep(c.gap);
      }
      ev('response.custom_tool_call_input.done', { item_id: it.id, output_index, input: it.input });
    }
    ev('response.output_item.done', { output_index, item: it });
  }
  if (await tail(c)) return;
  ev('response.completed', { response: resp('completed', output) });
  s.end();
}
