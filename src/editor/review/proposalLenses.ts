import * as vscode from 'vscode';
import { t } from '../../base/l10n.ts';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import type { SessionHost } from '../../live/surface.ts';
import { type ApprovalAnswers, answersIn, hasMoreAnswers } from '../../session/approvalAnswers.ts';
import { plain } from '../../session/lineEnds.ts';
import type { Approval } from '../../session/model.ts';
import { compareTexts, hunksOfSegments } from '../../session/segments.ts';
import { byPath, findAsk } from '../../session/select.ts';
import { dangerText, isAllLeftOut, unplacedNote } from '../../session/shownApproval.ts';
import { commandTitle } from '../commandTitle.ts';
import { REVIEW_SCHEME } from './documents.ts';
import { lensCommand } from './hunkLenses.ts';
import { LensChanges } from './lenses.ts';
import { type Review, ShownChange } from './review.ts';

/** Shows the answers to a pending edit above each of its changes, in the proposed side of its diff. */
export function showProposalLenses(host: SessionHost, review: Review, scheme = REVIEW_SCHEME): Disposable {
  const life = new Lifetime();
  const lenses = life.own(new LensChanges());
  const changed = () => {
    const shown = vscode.window.visibleTextEditors.map(({ document }) => document.uri);
    lenses.refresh(shown.filter((uri) => uri.scheme === scheme).map(String));
  };
  life.own(host.onChange((_, { before, now }) => before.asks !== now.asks && changed()));
  life.own(review.onOpened(changed));
  // A diff that has just been opened may be on the screen a little later.
  life.own(vscode.window.onDidChangeVisibleTextEditors(changed));
  life.own(vscode.workspace.onDidChangeTextDocument(({ document }) => document.uri.scheme === scheme && changed()));
  const provider: vscode.CodeLensProvider = {
    onDidChangeCodeLenses: lenses.onChange,
    provideCodeLenses: (document) => {
      lenses.asked(document.uri.toString());
      return lensesOf(document, host, review);
    },
  };
  life.own(vscode.languages.registerCodeLensProvider({ scheme }, provider));
  return life;
}

function lensesOf(document: vscode.TextDocument, host: SessionHost, review: Review): vscode.CodeLens[] {
  const { uri } = document;
  const subject = review.subjectOf(uri);
  const session = subject && host.get(subject.sessionId)?.store.now;
  const ask = session && subject.kind !== 'turn' ? findAsk(session, subject.askId) : undefined;
  if (!session || !subject || subject.kind === 'turn' || ask?.kind !== 'approval' || ask.decision) return [];
  const shown = answersIn(session, ask);
  const { once } = shown;
  // The dangerous part of a long text may be far below its first line, and the editor opens there.
  if (subject.kind === 'text') return [...new Set([0, subject.line])].flatMap((line) => answerLenses(uri, line, once?.label, shown));
  const before = plain(subject.proposed.before ?? '');
  const editable = review.hunksOf(document);
  const hunks =
    editable ?? hunksOfSegments(compareTexts(before, plain(document.getText()))).map(({ afterLine }) => ({ line: afterLine, isIn: true }));
  const accept = once && acceptLabel(once.label, ask, hunks);
  const isEmpty = isAllLeftOut(ask);
  return hunks.flatMap(({ line: at, isIn }, index) => {
    const line = Math.min(at, document.lineCount - 1);
    const change = editable?.[index];
    const args = [uri, at, ...(change ? [new ShownChange(change)] : [])];
    const lens = (title: string | undefined, command: string) => (title === undefined ? [] : [lensAt(line, title, command, args)]);
    if (!isIn) {
      return [
        // In the place of the "Leave out" that was pressed: a second press must not land on an answer.
        ...lens(vscode.l10n.t('Put back'), 'parley.toggleHunk'),
        ...(isEmpty ? answerLenses(uri, line, accept, shown) : []),
        ...lens(vscode.l10n.t('Change {0} of {1} is left out', index + 1, hunks.length), ''),
      ];
    }
    const notes = [...shown.dangers.map(dangerText), ask.detail.type === 'edit' ? unplacedNote(ask.detail.diffs) : ''];
    const warnings = index === 0 && notes.some(Boolean) ? notes.filter(Boolean).join(' · ') : undefined;
    // A narrow diff cuts the end of the row: what concerns this change alone comes first, as the diff's title has the answers, too; the words of a warning
    // come last.
    return [
      ...lens(warnings && '$(warning)', ''),
      ...lens(editable && vscode.l10n.t('Leave out'), 'parley.toggleHunk'),
      ...answerLenses(uri, line, accept, shown),
      ...lens(warnings, ''),
    ];
  });
}

function answerLenses(uri: vscode.Uri, line: number, accept: string | undefined, shown: ApprovalAnswers): vscode.CodeLens[] {
  const { reject, answers } = shown;
  const lens = (title: string | undefined, command: string) => (title === undefined ? [] : [lensAt(line, title, command, [uri, line])]);
  return [
    // What decides comes first, and the rest are icons, as on the card: a split diff cuts the end of the row, and so does a narrow one.
    ...lens(accept, 'parley.acceptDiff'),
    ...lens(reject?.label, 'parley.rejectDiff'),
    ...(hasMoreAnswers(shown) ? [lensAt(line, '$(chevron-down)', 'parley.diffAnswers', [uri, line], commandTitle('diffAnswers'))] : []),
    ...(answers.some((one) => one.means === 'feedback')
      ? [lensAt(line, '$(comment)', 'parley.diffFeedback', [uri, line], vscode.l10n.t('Feedback'))]
      : []),
  ];
}

function lensAt(line: number, title: string, command: string, args: readonly unknown[], words = title): vscode.CodeLens {
  return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), lensCommand(title, command, args, words));
}

/**
 * Accepting applies the whole proposal, above whichever change it is pressed: the label names the number of changes. It is short, so that Reject is not
 * cut after it in a split diff.
 */
function acceptLabel(once: string, { detail }: Approval, hunks: readonly { readonly isIn: boolean }[]): string {
  const files = detail.type === 'edit' ? byPath(detail.diffs).length : 1;
  if (files > 1) return `${vscode.l10n.t('Allow')} (${t('{0} {0|file|files}', files)})`;
  const taken = hunks.filter(({ isIn }) => isIn).length;
  return hunks.length > 1 ? vscode.l10n.t('Allow {0}/{1}', taken, hunks.length) : once;
}
