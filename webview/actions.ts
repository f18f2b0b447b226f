import type { Call, Calls } from '../src/bridge/contract.ts';
import type { Mirror } from '../src/bridge/mirror.ts';
import type { Host } from './host.ts';
import { absolute } from './links.ts';
import { t } from './strings.ts';
import type { Ui } from './ui.ts';
import type { Act, Popup } from './view.ts';

export interface ActNeeds {
  readonly host: Host;
  readonly mirror: Mirror;
  readonly ui: Ui;
  readonly changed: () => void;
  readonly draw: () => void;
  readonly popup: { now: Popup | undefined };
  /** Tells the user something, in sight and aloud. */
  readonly say: (text: string, level: 'info' | 'error') => void;
}

/** What templates may set going, for whichever session is shown when it happens. */
export function actions({ host, mirror, ui, changed, draw, popup, say }: ActNeeds): Act {
  const call = <M extends Call['method']>(method: M, params: Calls[M]['params']) => {
    host.call(method, params).catch((error: unknown) => say(messageOf(error), 'error'));
  };
  const withSession = (act: (sessionId: string) => void) => {
    if (mirror.session) act(mirror.session.id);
  };
  const remember: Act['remember'] = (change) => {
    ui.change(mirror.session?.id ?? '', change);
    changed();
  };
  const show: Act['show'] = (next) => {
    popup.now = next;
    changed();
  };
  const fail = (error: unknown) => say(messageOf(error), 'error');
  return {
    remember,
    show,
    focus: (id) => {
      draw();
      document.getElementById(id)?.focus();
    },
    reveal: (id) => {
      draw();
      document.getElementById(id)?.scrollIntoView({ block: 'nearest' });
    },
    attach: (kind) => {
      const id = mirror.session?.id ?? '';
      host.call('attach', { kind }).then((found) => {
        ui.change(id, { attachments: [...ui.memory(id).attachments, ...found] });
        changed();
      }, fail);
    },
    loadModels: () => {
      host.call('models', {}).then(
        (models) => popup.now?.kind === 'picker' && show({ ...popup.now, models }),
        (error: unknown) => say(t('The models could not be listed: {0}', messageOf(error)), 'error'),
      );
    },
    useSetup: ({ kind, id }) => call('useSetup', { kind, id }),
    useModel: (name) => call('useModel', { name }),
    unfold: (key, open) => remember({ unfolded: { ...ui.memory(mirror.session?.id ?? '').unfolded, [key]: open } }),
    intent: (intent) => withSession((sessionId) => host.post({ type: 'intent', sessionId, intent })),
    open: (path, line) => {
      const whole = absolute(path, mirror.session?.cwd ?? '');
      call('open', line === undefined ? { path: whole } : { path: whole, line });
    },
    openLink: (uri) => call('openLink', { uri }),
    review: (what) => withSession((sessionId) => call('review', { sessionId, ...what })),
    settleFile: (turnId, path, how) =>
      withSession((sessionId) => call('settleFile', { sessionId, turnId, how, ...(path === undefined ? {} : { path }) })),
    restoreFiles: (turnId) => withSession((sessionId) => call('restoreFiles', { sessionId, turnId })),
    copySession: () => withSession((sessionId) => call('copySession', { sessionId })),
    remedy: (remedy) => withSession((sessionId) => call('remedy', { sessionId, remedy })),
    openTerminal: (terminalId) => withSession((sessionId) => call('openTerminal', { sessionId, terminalId })),
    allowMore: (askId, how) => withSession((sessionId) => call('allowMore', { sessionId, askId, how })),
    copy: (text) => {
      navigator.clipboard.writeText(text).then(
        () => say(t('Copied'), 'info'),
        () => say(t('Copying did not work.'), 'error'),
      );
    },
    insertAtCursor: (text) => call('insertAtCursor', { text }),
    newSession: (how) => call('newSession', how),
    ...sessionActions({ host, popup, say }, show),
    trust: () => call('trustWorkspace', {}),
  };
}

/** What is done with sessions in the list of them. */
function sessionActions(
  { host, popup, say }: Pick<ActNeeds, 'host' | 'popup' | 'say'>,
  show: Act['show'],
): Pick<Act, 'switchSession' | 'findSessions' | 'renameSession' | 'pinSession' | 'deleteSession' | 'exportSession' | 'openInEditor'> {
  const fail = (error: unknown) => say(messageOf(error), 'error');
  const findSessions = (query: string) => {
    if (popup.now?.kind === 'sessions') show({ ...popup.now, query });
    host.call('findSessions', { query }).then((found) => {
      // The answer to an earlier query comes too late.
      if (popup.now?.kind === 'sessions' && popup.now.query === query) show({ ...popup.now, found });
    }, fail);
  };
  /** Changes something in the list, which is then asked for again. */
  const relist = <M extends 'renameSession' | 'pinSession' | 'deleteSession'>(method: M, params: Calls[M]['params']) => {
    host.call(method, params).then(() => popup.now?.kind === 'sessions' && findSessions(popup.now.query), fail);
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
    deleteSession: (sessionId) => relist('deleteSession', { sessionId }),
    exportSession: (sessionId) => void host.call('exportSession', { sessionId }).catch(fail),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
