// What a script means by "write this file", said with whatever tools the agent declared.
// ---- schema-shaped stub for constrained auxiliary calls
export function stub(s, d = 0) {
  if (!s || d > 6) return null;
  if (s.enum) return s.enum[s.enum.length - 1];
  if (s.const !== undefined) return s.const;
  if (s.anyOf || s.oneOf) return stub((s.anyOf ?? s.oneOf)[0], d + 1);
  const t = String(
    Array.isArray(s.type) ? s.type.find((x) => x !== 'null') : (s.type ?? (s.properties ? 'object' : 'string')),
  ).toLowerCase();
  if (t === 'object')
    return Object.fromEntries(
      Object.entries(s.properties ?? {})
        .filter(([k]) => (s.required ?? Object.keys(s.properties)).includes(k))
        .map(([k, v]) => [k, stub(v, d + 1)]),
    );
  if (t === 'array') return [];
  if (t === 'number' || t === 'integer') return Math.max(s.minimum ?? 1, 1);
  if (t === 'boolean') return false;
  return 'fake';
}

// ---- abstract tool calls
const CAND = {
  write: [
    'write_file',
    'Write',
    'write',
    'WriteFile',
    'create',
    'create_file',
    'fs_write',
    'write_to_file',
    'apply_patch',
    'str_replace_based_edit_tool',
  ],
  edit: ['edit', 'replace', 'Edit', 'edit_file', 'StrReplaceFile', 'str_replace', 'str_replace_editor', 'apply_patch', 'patch'],
  read: ['read_file', 'Read', 'read', 'ReadFile', 'view', 'read_text_file'],
  shell: [
    'run_shell_command',
    'Bash',
    'bash',
    'shell',
    'Shell',
    'exec_command',
    'shell_command',
    'execute_command',
    'local_shell',
    'terminal',
    'run_terminal_cmd',
  ],
  list: ['list_directory', 'LS', 'list', 'ls', 'Glob', 'glob'],
  search: ['search_file_content', 'grep_search', 'Grep', 'grep', 'rg'],
  glob: ['glob', 'Glob'],
  todo: ['write_todos', 'todo_write', 'TodoWrite', 'todowrite', 'update_plan', 'TodoList', 'SetTodoList', 'update_todo', 'TaskCreate'],
  fetch: ['web_fetch', 'WebFetch', 'webfetch', 'FetchURL'],
  plan_exit: ['exit_plan_mode', 'ExitPlanMode'],
  agent: ['agent', 'Agent', 'Task', 'task'],
  ask: ['ask_user', 'ask_person', 'ask_user_question', 'AskUserQuestion', 'question', 'AskUser', 'request_user_input'],
};
const P = {
  path: ['file_path', 'filePath', 'path', 'absolute_path', 'filename', 'target_file', 'dir_path', 'directory'],
  content: ['content', 'contents', 'file_text', 'text', 'newText'],
  old: ['old_string', 'oldString', 'old_str', 'old', 'oldText', 'old_text'],
  new: ['new_string', 'newString', 'new_str', 'new', 'newText', 'new_text'],
  command: ['command', 'cmd', 'script'],
  pattern: ['pattern', 'query', 'regex'],
  url: ['url', 'prompt'],
};
function patchText(c) {
  if (c.do === 'write')
    return `*** Begin Patch\n*** Add File: ${c.path}\n${String(c.content)
      .replace(/\n$/, '')
      .split('\n')
      .map((l) => '+' + l)
      .join('\n')}\n*** End Patch`;
  return `*** Begin Patch\n*** Update File: ${c.path}\n@@\n${c.old
    .replace(/\n$/, '')
    .split('\n')
    .map((l) => '-' + l)
    .join('\n')}\n${c.new
    .replace(/\n$/, '')
    .split('\n')
    .map((l) => '+' + l)
    .join('\n')}\n*** End Patch`;
}
export function resolveCall(c, tools, cwd) {
  if (c.name) {
    const t = tools.find((x) => x.name === c.name);
    return { name: c.name, ns: t?.ns, args: c.args ?? {}, custom: !!t?.custom, input: c.input };
  }
  const names = [].concat(c.tool ?? [], CAND[c.do] ?? []);
  let t = null;
  for (const n of names) {
    t = tools.find((x) => x.name === n);
    if (t) break;
  }
  if (!t)
    for (const n of names) {
      t = tools.find((x) => x.name?.toLowerCase().endsWith(n.toLowerCase()));
      if (t) break;
    }
  if (!t && (c.do === 'write' || c.do === 'edit')) {
    // no file tool: fall back on a shell heredoc
    const sh = c.do === 'write' ? `cat > '${c.path}' <<'FAKE_EOF'\n${c.content}\nFAKE_EOF` : `sed -i 's|${c.old}|${c.new}|' '${c.path}'`;
    return resolveCall({ do: 'shell', command: sh }, tools, cwd);
  }
  if (!t) return { name: c.do, args: c, unresolved: true };
  if (c.do === 'mcp') return { name: t.name, ns: t.ns, args: c.args ?? {} };
  if (t.custom) return { name: t.name, ns: t.ns, custom: true, input: /patch/.test(t.name) ? patchText(c) : (c.input ?? c.command ?? '') };
  const props = t.params?.properties ?? {};
  const req = t.params?.required ?? [];
  const args = {};
  const put = (kind, v) => {
    if (v === undefined) return;
    const k = P[kind].find((n) => n in props);
    if (!k) return;
    const ty = props[k].type;
    args[k] = ty === 'array' || ty === 'ARRAY' ? (kind === 'command' ? ['bash', '-lc', v] : [v]) : v;
  };
  if (/patch/.test(t.name) && (c.do === 'write' || c.do === 'edit')) {
    const k = ['input', 'patch', 'patchText', 'patch_text'].find((n) => n in props) ?? Object.keys(props)[0];
    args[k] = patchText(c);
  } else {
    put('path', c.path);
    put('content', c.content);
    put('old', c.old);
    put('new', c.new);
    if (c.do === 'edit' && 'edit' in props) args.edit = { old: c.old, new: c.new };
    put('command', c.command);
    put('pattern', c.pattern);
    put('url', c.url);
    if (c.do === 'shell') {
      put('path', c.path);
      if ('workdir' in props && req.includes('workdir')) args.workdir = c.path ?? cwd;
    }
  }
  if (c.do === 'todo') {
    const items = c.items ?? [];
    if (t.name === 'update_plan')
      Object.assign(args, { explanation: 'plan', plan: items.map((i) => ({ step: i.content, status: i.status })) });
    else if (t.name === 'TaskCreate')
      Object.assign(args, { subject: items[0]?.content ?? 'task', description: items[0]?.content ?? 'task', activeForm: 'working' });
    else {
      const k = ['todos', 'items', 'todoList'].find((n) => n in props) ?? 'todos';
      const ip = props[k]?.items?.properties ?? {};
      args[k] = items.map((i, n) => {
        const o = {};
        o['content' in ip ? 'content' : 'description' in ip ? 'description' : 'title' in ip ? 'title' : 'content'] = i.content;
        o.status = i.status;
        const se = ip.status?.enum;
        if (se && !se.includes(o.status))
          o.status =
            se.find((x) => x.replace(/[_-]/g, '') === i.status.replace(/_/g, '')) ??
            (i.status === 'completed' ? se.find((x) => /done|complete/.test(x)) : se[0]) ??
            i.status;
        if ('id' in ip) o.id = String(n + 1);
        if ('priority' in ip) o.priority = i.priority ?? 'medium';
        if ('activeForm' in ip) o.activeForm = 'Working: ' + i.content;
        return o;
      });
    }
  }
  if (c.do === 'ask') {
    if ('questions' in props) {
      const qp = props.questions.items?.properties ?? {};
      const q = {};
      q.question = c.question ?? 'Which one?';
      if ('header' in qp) q.header = c.header ?? 'Choice';
      if ('type' in qp) q.type = 'choice';
      if ('id' in qp) q.id = 'q1';
      q.options = (c.options ?? ['Red', 'Blue']).map((l) => ({ label: l, description: 'pick ' + l }));
      if ('multiSelect' in qp) q.multiSelect = false;
      if ('multi_select' in qp) q.multi_select = false;
      if ('multiple' in qp) q.multiple = false;
      args.questions = [q];
    } else Object.assign(args, { question: c.question, ...('options' in props ? { options: c.options } : {}) });
  }
  if (c.do === 'plan_exit') {
    const k = ['plan', 'plan_path', 'plan_filename'].find((n) => n in props);
    if (k) args[k] = c.plan ?? '1. do it';
  }
  Object.assign(args, c.extra ?? {});
  for (const k of req)
    if (!(k in args)) {
      // fill whatever else the schema insists on
      const ty = String(props[k]?.type ?? 'string').toLowerCase();
      args[k] =
        k === 'description'
          ? (c.description ?? `fake ${c.do}`)
          : k === 'workdir' || k === 'cwd'
            ? (cwd ?? '/tmp')
            : ty === 'string' && !props[k]?.enum
              ? (c.description ?? `fake ${c.do}`)
              : stub(props[k]);
    }
  return { name: t.name, ns: t.ns, args };
}
