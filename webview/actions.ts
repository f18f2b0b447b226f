import type { Calls, ModelLine, ViewCall, ViewIntent } from '../src/bridge/contract.ts';
import type { Content } from '../src/session/model.ts';
import { isAttached, promptText } from '../src/session/select.ts';
import { notMentioned } from './attachments.ts';
import { keepingPicture } from './clipboard.ts';
import { absolute } from './links.ts';
import type { Page } from './page.ts';
import { beginEdit, endEdit, isEditing, saidIn, wayToEdit } from './parts/retryActions.ts';
import { t } from './strings.ts';
import { type Act, COMPOSER_ID } from './view.ts';

/** Milliseconds after the page opened in which the host may start or restore a session by itself. */
const STARTS_BY_ITSELF_MS = 3000;
const openedAt = performance.now();

/** The actions of templates, applied to the session shown when they run. */
export function actions(page: Page): Act {
  const { host, mirror, ui } = page;
  const fail = (error: unknown) => page.showMessage(messageOf(error), 'error');
  const call = <M extends ViewCall['method']>(method: M, params: Calls[M]['params']) => {
    page.removeMessage();
    host.call(method, params).catch(fail);
  };
  const withSession = (act: (sessionId: string) => void) => {
    if (mirror.session) act(mirror.session.id);
  };
  const remember: Act['remember'] = (change) => {
    ui.change(mirror.session?.id ?? '', change);
    page.changed();
  };
  const show: Act['show'] = (popup) => page.update({ popup });
  const intent: Act['intent'] = (one) => sendIntent(page, one);
  return {
    remember,
    show,
    focus: (id) => {
      page.changed('now');
      document.getElementById(id)?.focus();
    },
    reveal: (id) => {
      page.changed('now');
      document.getElementById(id)?.scrollIntoView({ block: 'nearest' });
    },
    attach: (kind) => {
      const id = mirror.session?.id ?? '';
      host.call('attach', { kind }).then((found) => {
        ui.change(id, { attachments: [...ui.memory(id).attachments, ...found] });
        page.changed();
      }, fail);
    },
    drop: (paths) => addDropped(page, paths),
    loadModels: () => {
      // Without the list, the configured model remains, and the entry for another one, which reports the error.
      const listed = (models: readonly ModelLine[]) => page.now.popup?.kind === 'picker' && show({ ...page.now.popup, models });
      host.call('models', {}).then(listed, () => {});
    },
    say: (text, level) => page.showMessage(text, level ?? 'error'),
    send: (content, how, replaces) => {
      page.removeMessage();
      if (!mirror.session) return sendLater(page, content);
      page.update({ sent: page.now.sent + 1 });
      const turnId = crypto.randomUUID();
      intent(replaces === undefined ? { type: how, turnId, content } : { type: 'prompt', turnId, content, replaces });
    },
    useSetup: ({ kind, id }) => call('useSetup', { kind, id }),
    useModel: (name) => call('useModel', { name }),
    unfold: (key, open) => remember({ unfolded: { ...ui.memory(mirror.session?.id ?? '').unfolded, [key]: open } }),
    intent,
    open: (path, line, column) => call('open', { path: absolute(path, mirror.session?.cwd ?? ''), ...placeIn(line, column) }),
    openLink: (uri) => call('openLink', { uri }),
    review: (what) => withSession((sessionId) => call('review', { sessionId, ...what })),
    settleFile: (turnId, path, how) =>
      withSession((sessionId) => call('settleFile', { sessionId, turnId, how, ...(path === undefined ? {} : { path }) })),
    restoreFiles: (turnId) =>
      withSession((sessionId) => {
        host.call('restoreFiles', { sessionId, turnId }).then((goesBack) => goesBack && editMessage(page, sessionId, turnId), fail);
      }),
    editMessage: (turnId, way) => withSession((sessionId) => editMessage(page, sessionId, turnId, way)),
    copySession: (turnId) => withSession((sessionId) => call('copySession', turnId === undefined ? { sessionId } : { sessionId, turnId })),
    remedy: (remedy) => withSession((sessionId) => call('remedy', { sessionId, remedy })),
    openTerminal: (terminalId) => withSession((sessionId) => call('openTerminal', { sessionId, terminalId })),
    showAsk: (askId) => {
      remember({ ask: askId });
      if (page.now.pick) withSession((sessionId) => call('showAsk', { sessionId, askId }));
    },
    allowMore: (askId, how) => withSession((sessionId) => call('allowMore', { sessionId, askId, how })),
    copy: (text) => {
      navigator.clipboard.writeText(text).then(() => page.showMessage(t('Copied'), 'info'), fail);
    },
    insertAtCursor: (text) => call('insertAtCursor', { text }),
    newSession: (how) => call('newSession', how),
    ...sessionActions(page, show),
    trust: () => call('trustWorkspace', {}),
  };
}

/** Puts the message of a turn into the composer of its session, to be sent in its place or, with `append`, anew. The draft waits until then. */
export function editMessage(page: Page, sessionId: string, turnId: string, way = wayToEdit(page.session)): void {
  const turn = page.mirror.session?.id === sessionId ? page.mirror.session.turns.find(({ id }) => id === turnId) : undefined;
  if (!turn) return;
  const memory = page.ui.memory(sessionId);
  const edit = beginEdit(memory, saidIn(turn), isEditing(page.session, memory));
  const appends = way === 'append';
  page.ui.change(sessionId, { ...edit, replaces: appends ? undefined : turn.id, appends: appends || undefined });
  page.changed('now');
  document.getElementById(COMPOSER_ID)?.focus();
}

/** Ends an edit of that message unsent. What was written in it stays in the history. */
export function endEditOf(page: Page, sessionId: string, turnId: string): void {
  const memory = page.ui.memory(sessionId);
  if (memory.replaces !== turnId) return;
  page.ui.noteSent({ text: memory.draft.trim(), mentions: memory.mentions });
  page.ui.change(sessionId, endEdit(memory));
  page.changed('now');
}

function placeIn(line: number | undefined, column: number | undefined): Partial<Calls['open']['params']> {
  return { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
}

/** Attaches what was dropped, once the host has told which of the paths are folders: these end with a slash. */
function addDropped(page: Page, paths: readonly string[]): void {
  const id = page.mirror.session?.id ?? '';
  const add = (folders: readonly string[]) => {
    const dropped = paths.map((path): Content => ({ type: 'file', path: folders.includes(path) ? `${path}/` : path }));
    page.ui.change(id, { attachments: [...notMentioned(page.ui.memory(id).attachments, dropped), ...dropped] });
    page.changed();
  };
  page.host.call('folders', { paths: paths.slice(0, 100) }).then(add, () => add([]));
}

/** Attaches the selection of the terminal, which the host reads by the clipboard, and puts the picture back that was there. */
export function attachTerminal(page: Page): void {
  keepingPicture(() => page.host.call('addTerminal', {})).catch((error: unknown) =>
    page.showMessage(t('{0} failed: {1}', t('Terminal'), messageOf(error)), 'error'),
  );
}

/** The actions of the list of sessions. */
function sessionActions(
  page: Page,
  show: Act['show'],
): Pick<Act, 'switchSession' | 'findSessions' | 'renameSession' | 'pinSession' | 'deleteSession' | 'exportSession' | 'openInEditor'> {
  const { host } = page;
  const fail = (error: unknown) => page.showMessage(messageOf(error), 'error');
  const findSessions = (query: string) => {
    const { popup } = page.now;
    if (popup?.kind === 'sessions') show({ ...popup, query });
    host.call('findSessions', { query }).then((found) => {
      // Drops the answer to an earlier query.
      const { popup: now } = page.now;
      if (now?.kind === 'sessions' && now.query === query) show({ ...now, found });
    }, fail);
  };
  const relisted = () => page.now.popup?.kind === 'sessions' && findSessions(page.now.popup.query);
  /** Changes something in the list, then requests the list again. */
  const relist = <M extends 'renameSession' | 'pinSession'>(method: M, params: Calls[M]['params']) => {
    host.call(method, params).then(relisted, fail);
  };
  /** The modal question takes the keyboard, and the editor gives it back to no element of this page. */
  const remove = (sessionId: string) => {
    const back = () => {
      if (!document.hasFocus()) window.focus();
    };
    host.call('deleteSession', { sessionId }).then(relisted, fail).finally(back);
  };
  const leave = (method: 'switchSession' | 'openInEditor', sessionId: string) => {
    show(undefined);
    host.call(method, { sessionId }).catch(fail);
  };
  return {
    findSessions,
    switchSession: (sessionId) => leave('switchSession', sessionId),
    openInEditor: (sessionId) => leave('openInEditor', sessionId),
    renameSession: (sessionId, title) => relist('renameSession', { sessionId, title }),
    pinSession: (sessionId, on) => relist('pinSession', { sessionId, on }),
    deleteSession: remove,
    exportSession: (sessionId) => void host.call('exportSession', { sessionId }).catch(fail),
  };
}

/** Keeps the message, in sight, for a session that the host may be restoring or starting by itself; asks for one after a while. */
function sendLater(page: Page, content: readonly Content[]): void {
  page.update({ unsent: [...page.now.unsent, { turnId: crypto.randomUUID(), content }] });
  if (page.now.unsent.length > 1) return;
  const isWaiting = () => page.now.unsent.length > 0 && page.mirror.active === undefined;
  // The user may have left the question for a folder, or there is none.
  const giveBack = () => isWaiting() && takeBackUnsent(page);
  const begin = () => {
    if (!isWaiting()) return;
    // The host may only be slow: it knows whether it has a session.
    page.host.call('newSession', { ifNone: true }).then(giveBack, (error: unknown) => {
      page.showMessage(messageOf(error), 'error');
      giveBack();
    });
  };
  setTimeout(begin, Math.max(0, openedAt + STARTS_BY_ITSELF_MS - performance.now()));
}

/** Puts the messages that wait for a session back into the composer. */
export function takeBackUnsent(page: Page): void {
  const { unsent } = page.now;
  if (unsent.length === 0) return;
  const { draft, attachments } = page.ui.memory('');
  page.ui.change('', {
    draft: [...unsent.map(({ content }) => promptText({ prompt: content })), draft].filter(Boolean).join('\n\n'),
    attachments: [...unsent.flatMap(({ content }) => content.filter(isAttached)), ...attachments],
  });
  page.update({ unsent: [] });
}

function sendIntent(page: Page, intent: ViewIntent): void {
  const { session } = page.mirror;
  if (session) page.host.post({ type: 'intent', sessionId: session.id, intent });
  else changeUnsent(page, intent);
}

/** What the user does with messages that wait for a session: takes one out, or stops the waiting. */
function changeUnsent(page: Page, intent: ViewIntent): void {
  if (intent.type === 'cancel') takeBackUnsent(page);
  else if (intent.type === 'unqueue') page.update({ unsent: page.now.unsent.filter(({ turnId }) => turnId !== intent.turnId) });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
