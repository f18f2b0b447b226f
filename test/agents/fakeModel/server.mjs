#!/usr/bin/env node
// Fake model server: one small loopback HTTP server, no dependencies, that answers the model APIs
// real coding agents call, from a JSON script. Speaks:
//   OpenAI   POST */chat/completions (SSE or JSON), POST */responses (SSE or JSON), GET */models
//   Anthropic POST */messages (SSE or JSON), POST */messages/count_tokens, GET */models
//   Gemini   POST */models/<m>:generateContent | :streamGenerateContent[?alt=sse] | :countTokens | :embedContent
//   admin    GET /__health  GET /__log  POST /__script  POST /__reset
//
//   node server.mjs --script scenarios/basic.json [--port 0] [--log req.jsonl] [--full] [--var cwd=/abs]...
// Prints one line "LISTENING http://127.0.0.1:<port>" on stdout when ready.
//
// SCRIPT
// {
//   "vars": {"cwd": "/abs"},                       // ${name} in any string; --var wins
//   "scenarios": [{ "match": "regex", "flags": "i", "turns": [TURN, ...] }],
//   "default": TURN,                               // no scenario matched
//   "aux": [{ "match": "regex over system+user text", "text": "..." }],  // requests without tools
//   "models": ["fake-model"]
// }
// Stateless stepping: the scenario is the one whose regex matches the LAST user text found scanning
// backwards; the step is the number of assistant blocks after that message. Retries and parallel
// sessions therefore need no bookkeeping. Past the last turn, the last turn's text is repeated
// without its tool calls.
//
// TURN = { "thinking": "...", "text": "...", "calls": [CALL...], "usage": {"in":N,"out":N},
//          "chunk": 12, "delayMs": 0, "stop": "length", "hang": true, "hangAfterText": true,
//          "disconnect": true, "error": {"status":429,"type":"rate_limit_error","message":"..","retryAfter":1},
//          "times": 1 }                            // error only for the first N hits of this turn
// CALL = { "name": "exact_tool_name", "args": {...} }            exact
//      | { "do": "mcp", "tool": "suffix_of_name", "args": {...} }
//      | { "do": "write|edit|read|shell|list|search|glob|todo|fetch|plan_exit|ask", ... }  abstract:
//        mapped on whichever tool the agent declared (names and parameter names are looked up in its schema)
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { resolveCall, stub } from './calls.mjs';
import { est, json, sendAnthropic, sendChat, sendGemini, sendResponses } from './replies.mjs';
import { normAnthropic, normGemini, normOpenAIChat, normResponses } from './requests.mjs';

const argv = process.argv.slice(2);
const opt = { port: 0, log: '', full: false, script: '', vars: {} };
for (let i = 0; i < argv.length; i++) {
  const a = argv[i];
  if (a === '--port') opt.port = +argv[++i];
  else if (a === '--log') opt.log = argv[++i];
  else if (a === '--full') opt.full = true;
  else if (a === '--script') opt.script = argv[++i];
  else if (a === '--var') {
    const [k, ...v] = argv[++i].split('=');
    opt.vars[k] = v.join('=');
  } else {
    console.error('unknown option ' + a);
    process.exit(2);
  }
}
let script = opt.script ? JSON.parse(fs.readFileSync(opt.script, 'utf8')) : { default: { text: 'ok' } };
const hits = new Map();
const logRing = [];
let seq = 0;
const log = (o) => {
  const line = JSON.stringify(o);
  logRing.push(o);
  if (logRing.length > 500) logRing.shift();
  if (opt.log) fs.appendFileSync(opt.log, line + '\n');
};
const sub = (v) => {
  if (typeof v === 'string') return v.replace(/\$\{(\w+)\}/g, (m, k) => opt.vars[k] ?? script.vars?.[k] ?? m);
  if (Array.isArray(v)) return v.map(sub);
  if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, sub(x)]));
  return v;
};
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

// ---- choose a turn
function choose(n) {
  const aux = n.tools.length === 0;
  if (aux) {
    const hay = n.system + '\n' + n.msgs.map((m) => m.text).join('\n');
    for (const a of script.aux ?? [])
      if (new RegExp(a.match, a.flags ?? 'is').test(hay)) return { label: 'aux:' + a.match, turn: sub(a), aux };
    if (n.schema) return { label: 'aux:schema', turn: { text: JSON.stringify(stub(n.schema)) }, aux };
    if (n.json) return { label: 'aux:json', turn: { text: '{}' }, aux };
    if (!(script.auxUsesScenarios ?? false)) return { label: 'aux:default', turn: sub(script.auxDefault ?? { text: 'Fake title' }), aux };
  }
  for (let i = n.msgs.length - 1; i >= 0; i--) {
    const m = n.msgs[i];
    if (m.role !== 'user') continue;
    for (const [si, s] of (script.scenarios ?? []).entries()) {
      if (!new RegExp(s.match, s.flags ?? 'i').test(m.text)) continue;
      let step = 0,
        prev = false;
      for (const x of n.msgs.slice(i + 1)) {
        const a = x.role === 'assistant';
        if (a && !prev) step++;
        prev = a;
      }
      const last = step >= s.turns.length;
      const turn = sub(s.turns[Math.min(step, s.turns.length - 1)]);
      if (last) {
        turn.calls = [];
        turn.text ||= 'Done.';
        delete turn.hang;
        delete turn.error;
      }
      const key = si + ':' + step;
      const h = (hits.get(key) ?? 0) + 1;
      hits.set(key, h);
      if (turn.error && turn.times && h > turn.times) delete turn.error;
      return { label: `${s.name ?? si}#${step}`, turn, aux };
    }
  }
  return { label: 'default', turn: sub(script.default ?? { text: 'ok' }), aux };
}

const server = http.createServer((req, res) => {
  const chunks = [];
  req.on('data', (c) => chunks.push(c));
  req.on('error', () => {});
  req.on('end', () =>
    handle(req, res, Buffer.concat(chunks).toString('utf8')).catch((e) => {
      console.error('fake-model error', e);
      if (!res.headersSent) {
        res.writeHead(500, { 'content-type': 'application/json' });
      }
      res.end(JSON.stringify({ error: { message: String(e) } }));
    }),
  );
});

async function handle(req, res, raw) {
  const url = new URL(req.url, 'http://x');
  const p = url.pathname;
  if (p === '/__health') return json(res, 200, { ok: true, seq });
  if (p === '/__log') return json(res, 200, logRing);
  if (p === '/__script') {
    script = JSON.parse(raw);
    hits.clear();
    return json(res, 200, { ok: true });
  }
  if (p === '/__reset') {
    hits.clear();
    logRing.length = 0;
    return json(res, 200, { ok: true });
  }
  let body = {};
  try {
    body = raw ? JSON.parse(raw) : {};
  } catch {
    /* left empty */
  }
  const id = ++seq;
  const t0 = Date.now();
  const models = script.models ?? ['fake-model'];
  const gem = p.match(/\/models\/([^/:]+):(\w+)$/);
  let api = null,
    n = null;
  if (req.method === 'POST' && /\/chat\/completions$/.test(p)) {
    api = 'chat';
    n = normOpenAIChat(body);
  } else if (req.method === 'POST' && /\/responses$/.test(p)) {
    api = 'responses';
    n = normResponses(body);
  } else if (req.method === 'POST' && /\/messages\/count_tokens$/.test(p)) {
    log({ id, p, api: 'count' });
    return json(res, 200, { input_tokens: est(raw) });
  } else if (req.method === 'POST' && /\/messages$/.test(p)) {
    api = 'anthropic';
    n = normAnthropic(body);
  } else if (req.method === 'POST' && gem && /countTokens/.test(gem[2])) {
    log({ id, p, api: 'count' });
    return json(res, 200, { totalTokens: est(raw) });
  } else if (req.method === 'POST' && gem && /mbedContent/.test(gem[2])) {
    log({ id, p, api: 'embed' });
    return json(res, 200, { embedding: { values: [0, 0, 0] }, embeddings: [{ values: [0, 0, 0] }] });
  } else if (req.method === 'POST' && gem) {
    api = 'gemini';
    n = normGemini(body);
  } else if (req.method === 'GET' && /\/models(\/[^/]+)?$/.test(p)) {
    log({ id, p, api: 'models' });
    return json(res, 200, {
      object: 'list',
      data: models.map((m) => ({
        id: m,
        object: 'model',
        type: 'model',
        display_name: m,
        created: 1700000000,
        created_at: '2026-01-01T00:00:00Z',
        owned_by: 'fake',
        context_length: 262144,
        supports_reasoning: false,
        supports_image_in: false,
      })),
      models: models.map((m) => ({ name: 'models/' + m, slug: m, displayName: m, supportedGenerationMethods: ['generateContent'] })),
      has_more: false,
    });
  } else {
    log({ id, p, method: req.method, api: 'unknown', status: 404, body: raw.slice(0, 400) });
    return json(res, 404, { error: { type: 'not_found_error', message: 'fake-model: no such path ' + p } });
  }

  const { label, turn, aux } = choose(n);
  const calls = (turn.calls ?? []).map((c, i) => ({
    id: `${api === 'anthropic' ? 'toolu_' : 'call_'}${randomUUID().replace(/-/g, '').slice(0, 20)}`,
    ...resolveCall(c, n.tools, opt.vars.cwd),
    i,
  }));
  const lastTool = [...n.msgs].reverse().find((m) => m.role === 'tool');
  const rec = {
    id,
    t: t0,
    api,
    p,
    model: body.model ?? gem?.[1],
    stream: !!body.stream || /stream/.test(gem?.[2] ?? ''),
    label,
    aux,
    nmsgs: n.msgs.length,
    tools: opt.full ? n.tools : n.tools.map((t) => t.name),
    lastUser: [...n.msgs]
      .reverse()
      .find((m) => m.role === 'user')
      ?.text?.slice(-300),
    lastTool: lastTool?.text?.slice(0, 600),
    calls: calls.map((c) => ({ name: c.name, args: c.args, input: c.input, unresolved: c.unresolved })),
    ...(opt.full ? { body } : {}),
  };
  let aborted = false;
  res.on('close', () => {
    if (!res.writableEnded) {
      aborted = true;
      log({ id, event: 'client-aborted', afterMs: Date.now() - t0 });
    }
  });
  log(rec);
  if (turn.error) {
    const e = turn.error;
    const h = e.retryAfter ? { 'retry-after': String(e.retryAfter) } : {};
    const o =
      api === 'anthropic'
        ? { type: 'error', error: { type: e.type ?? 'api_error', message: e.message ?? 'fake error' } }
        : api === 'gemini'
          ? { error: { code: e.status, message: e.message ?? 'fake error', status: e.type ?? 'RESOURCE_EXHAUSTED' } }
          : { error: { message: e.message ?? 'fake error', type: e.type ?? 'server_error', code: e.code ?? null } };
    return json(res, e.status ?? 500, o, h);
  }
  if (turn.delayMs) await sleep(turn.delayMs);
  const ctx = {
    req,
    res,
    body,
    url,
    model: body.model ?? gem?.[1] ?? 'fake-model',
    turn,
    calls,
    n,
    chunk: turn.chunk ?? 16,
    gap: turn.gapMs ?? 0,
    dead: () => aborted,
    usage: { in: turn.usage?.in ?? est(raw), out: turn.usage?.out ?? est((turn.text ?? '') + JSON.stringify(calls.map((c) => c.args))) },
  };
  await { chat: sendChat, responses: sendResponses, anthropic: sendAnthropic, gemini: sendGemini }[api](ctx);
}

// A connection that rests is never closed from here: a request that is already on its way on it would be lost.
server.keepAliveTimeout = 0;
server.listen(opt.port, '127.0.0.1', () => console.log(`LISTENING http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));
