// The request of each model API, brought to one shape: {system, msgs, tools, schema, json}.
const textOf = (c) =>
  typeof c === 'string'
    ? c
    : Array.isArray(c)
      ? c
          .map((p) =>
            typeof p === 'string' ? p : (p.text ?? (typeof p.content === 'string' && p.type !== 'tool_result' ? p.content : '')),
          )
          .join('\n')
      : '';

// ---- normalise each API's request into {system, msgs:[{role,text,kind}], tools:[{name,params,custom}], schema}
export function normOpenAIChat(b) {
  const msgs = [];
  let system = '';
  for (const m of b.messages ?? []) {
    if (m.role === 'system' || m.role === 'developer') system += textOf(m.content) + '\n';
    else if (m.role === 'user') msgs.push({ role: 'user', text: textOf(m.content) });
    else if (m.role === 'assistant') msgs.push({ role: 'assistant', text: textOf(m.content) });
    else msgs.push({ role: 'tool', text: textOf(m.content) });
  }
  const tools = (b.tools ?? []).map((t) => ({
    name: t.function?.name ?? t.name,
    params: t.function?.parameters ?? t.parameters ?? {},
    custom: t.type === 'custom',
  }));
  return {
    system,
    msgs,
    tools,
    schema: b.response_format?.json_schema?.schema,
    json: !!b.response_format && b.response_format.type !== 'text',
  };
}
export function normResponses(b) {
  const msgs = [];
  let system = b.instructions ?? '';
  const items = typeof b.input === 'string' ? [{ type: 'message', role: 'user', content: b.input }] : (b.input ?? []);
  for (const it of items) {
    const type = it.type ?? 'message';
    if (type === 'message') {
      if (it.role === 'user') msgs.push({ role: 'user', text: textOf(it.content) });
      else if (it.role === 'assistant') msgs.push({ role: 'assistant', text: textOf(it.content) });
      else system += '\n' + textOf(it.content);
    } else if (/_output$/.test(type)) msgs.push({ role: 'tool', text: typeof it.output === 'string' ? it.output : textOf(it.output) });
    else msgs.push({ role: 'assistant', text: '' });
  }
  const tools = [];
  const add = (t, ns) => {
    if (t.type === 'namespace' || (t.tools && !t.parameters)) {
      for (const x of t.tools ?? []) add(x, t.name);
      return;
    }
    if (t.type === 'function' || t.type === 'custom')
      tools.push({ name: t.name, ns, params: t.parameters ?? {}, custom: t.type === 'custom' });
    else tools.push({ name: t.name ?? t.type, params: {}, builtin: true });
  };
  for (const t of b.tools ?? []) add(t);
  return { system, msgs, tools, schema: b.text?.format?.schema, json: b.text?.format && b.text.format.type !== 'text' };
}
export function normAnthropic(b) {
  const msgs = [];
  for (const m of b.messages ?? []) {
    if (m.role === 'assistant') {
      msgs.push({ role: 'assistant', text: textOf(m.content) });
      continue;
    }
    const parts = typeof m.content === 'string' ? [{ type: 'text', text: m.content }] : (m.content ?? []);
    const hasResult = parts.some((p) => p.type === 'tool_result');
    if (hasResult)
      msgs.push({
        role: 'tool',
        text: parts
          .filter((p) => p.type === 'tool_result')
          .map((p) => textOf(p.content))
          .join('\n'),
      });
    const t = parts
      .filter((p) => p.type === 'text')
      .map((p) => p.text)
      .join('\n');
    if (t) msgs.push({ role: 'user', text: t, afterTool: hasResult });
  }
  return {
    system: textOf(b.system),
    msgs,
    schema: b.output_config?.format?.schema ?? b.output_format?.schema,
    tools: (b.tools ?? []).map((t) => ({ name: t.name, params: t.input_schema ?? {}, builtin: !t.input_schema })),
  };
}
export function normGemini(b) {
  const msgs = [];
  for (const c of b.contents ?? []) {
    const parts = c.parts ?? [];
    const t = parts.map((p) => p.text ?? '').join('\n');
    if (c.role === 'model') msgs.push({ role: 'assistant', text: t });
    else {
      if (parts.some((p) => p.functionResponse))
        msgs.push({ role: 'tool', text: JSON.stringify(parts.filter((p) => p.functionResponse).map((p) => p.functionResponse.response)) });
      if (t.trim()) msgs.push({ role: 'user', text: t, afterTool: parts.some((p) => p.functionResponse) });
    }
  }
  const tools = (b.tools ?? []).flatMap((t) =>
    (t.functionDeclarations ?? []).map((f) => ({ name: f.name, params: f.parametersJsonSchema ?? f.parameters ?? {} })),
  );
  const g = b.generationConfig ?? {};
  return {
    system: (b.systemInstruction?.parts ?? []).map((p) => p.text).join('\n'),
    msgs,
    tools,
    schema: g.responseJsonSchema ?? g.responseSchema,
    json: g.responseMimeType === 'application/json',
  };
}
