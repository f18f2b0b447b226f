import * as vscode from 'vscode';
import type { HostedSession } from '../live/surface.ts';
import type { OptionChoice, SessionOption } from '../session/model.ts';
import { type FlatCommand, flatCommands } from '../session/select.ts';
import { plainLabel } from './approvals/rowText.ts';
import { commandTitle } from './commandTitle.ts';
import type { PickChoice, QuickInputs } from './quickInputs.ts';

/** Quick-pick of the agent's modes. */
export async function switchMode(session: HostedSession, inputs: Pick<QuickInputs, 'pick'>): Promise<void> {
  const { mode, agent } = session.store.now;
  if (!mode) return;
  const modeId = await inputs.pick(
    mode.all.map((one) => ({
      label: plainLabel(one.name),
      description: one.id === mode.current ? vscode.l10n.t('current') : '',
      detail: one.description ?? '',
      value: one.id,
    })),
    { title: commandTitle('switchMode'), placeholder: agent.name },
  );
  if (modeId !== undefined) session.send({ type: 'setMode', modeId });
}

/** Quick-pick of the session's options (model, depth of thought, switches), then of the option's values. A switch toggles at once. */
export async function changeOptions(session: HostedSession, inputs: Pick<QuickInputs, 'pick'>): Promise<void> {
  const { options = [], agent } = session.store.now;
  const choices: PickChoice<SessionOption>[] = options.map((option) => ({
    label: `$(${iconOf(option)}) ${plainLabel(option.name)}`,
    description: plainLabel(shownValue(option)),
    detail: option.description ?? '',
    value: option,
  }));
  const title = commandTitle('sessionOptions');
  const only = choices.length === 1 ? choices[0]?.value : undefined;
  const chosen = only ?? (await inputs.pick(choices, { title, placeholder: agent.name }));
  if (!chosen) return;
  if (chosen.kind === 'switch') return session.send({ type: 'setOption', optionId: chosen.id, value: !chosen.on });
  const value = await inputs.pick(rowsOf(chosen.choices, chosen.current), {
    title: chosen.name,
    placeholder: chosen.description ?? agent.name,
  });
  if (value !== undefined && value !== chosen.current) session.send({ type: 'setOption', optionId: chosen.id, value });
}

/** Choices under the headings of their groups. */
function rowsOf(choices: readonly OptionChoice[], current: string): readonly PickChoice<string>[] {
  const groups = [...new Set(choices.map((choice) => choice.group ?? ''))];
  return groups.flatMap((group) => [
    ...(group === '' ? [] : [{ label: group, kind: vscode.QuickPickItemKind.Separator, value: '' }]),
    ...choices
      .filter((choice) => (choice.group ?? '') === group)
      .map(({ value, name, description }) => ({
        label: plainLabel(name),
        description: value === current ? vscode.l10n.t('current') : '',
        detail: description ?? '',
        value,
      })),
  ]);
}

function shownValue(option: SessionOption): string {
  if (option.kind === 'switch') return option.on ? vscode.l10n.t('on') : vscode.l10n.t('off');
  return option.choices.find((choice) => choice.value === option.current)?.name ?? option.current;
}

function iconOf(option: SessionOption): string {
  if (option.kind === 'switch') return option.on ? 'check' : 'circle-slash';
  return option.about === 'model' ? 'chip' : option.about === 'thought' ? 'lightbulb' : 'settings';
}

/** Quick-pick of the session's commands, then the arguments. True when a command was sent. */
export async function runSlashCommand(session: HostedSession, inputs: QuickInputs, newId: () => string): Promise<boolean> {
  const all = flatCommands(session.store.now.commands);
  const title = commandTitle('runSlashCommand');
  const choices: PickChoice<FlatCommand>[] = all.map((one) => ({
    label: `/${one.path.join(' ')}`,
    description: [one.command.hint, ...one.command.aliases.map((alias) => `/${alias}`)].filter(Boolean).join('  '),
    detail: one.command.description,
    value: one,
  }));
  const chosen = await inputs.pick(choices, { title, placeholder: session.store.now.agent.name });
  if (!chosen) return false;
  const args = await inputs.input({
    title: `/${chosen.path.join(' ')}`,
    prompt: chosen.command.description,
    placeholder: chosen.command.hint ?? vscode.l10n.t('Arguments, or nothing'),
  });
  if (args === undefined) return false;
  session.send({ type: 'command', turnId: newId(), path: chosen.path, args: args.trim() });
  return true;
}
