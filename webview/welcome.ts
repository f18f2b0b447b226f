import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { ProfileLine } from '../src/bridge/contract.ts';
import { visibleText } from '../src/session/visible.ts';
import { t } from './strings.ts';
import type { Act, View } from './view.ts';

/** More of them would only be a list to read. */
const MOST_EXAMPLES = 3;

/** The page before the first message: a way to an agent or a model where there is none, and examples that work. */
export function welcomeView(view: View, profiles: readonly ProfileLine[], trusted: boolean): TemplateResult {
  const { session, profile, act } = view;
  if (!trusted) return html`<div class="welcome">${untrusted(act)}</div>`;
  const guide = profile?.model === '';
  return html`<div class="welcome">
    ${guide ? connectView(view) : session.id === '' ? startersView(profiles, act) : nothing}
    <section>
      <h2>${t('Try one of these')}</h2>
      ${guide ? html`<p class="faint">${t('The built-in guide follows fixed rules: it searches, edits and runs commands.')}</p>` : nothing}
      <ul class="examples">
        ${examples(view.around, guide).map((text) => html`<li><button class="text-button" type="button" @click=${() => act.send([{ type: 'text', text }], 'prompt')}>${text}</button></li>`)}
      </ul>
    </section>
  </div>`;
}

function untrusted(act: Act): TemplateResult {
  return html`<div class="fault level-warn">
    <div class="fault-text">
      <p>${t('Agents can run commands and change files, so they start only in a folder you trust.')}</p>
      <div class="actions"><button class="button primary" type="button" @click=${() => act.trust()}>${t('Manage workspace trust')}</button></div>
    </div>
  </div>`;
}

/** For the bundled agent without a model: options found on this computer, then a key, then other agents. */
function connectView({ setups, act }: View): TemplateResult {
  const row = (name: string, detail: string, action: string, run: () => void, first = false) =>
    html`<li class="setup">
      <span class="setup-text"><bdi>${visibleText(name)}</bdi><span class="setup-detail">${visibleText(detail)}</span></span>
      <button class=${first ? 'button primary' : 'button'} type="button" aria-label=${`${action}: ${name}`} @click=${run}>${action}</button>
    </li>`;
  return html`<section>
    <h2>${t('Connect')}</h2>
    <p class="faint">${t('Parley works with any coding agent. It asks before it acts and shows every change.')}</p>
    <ul class="setups">
      ${setups.map((setup, index) => row(setup.name, setup.detail, t('Connect'), () => act.useSetup(setup), index === 0))}
      ${row(t('Model'), 'Ollama, OpenRouter, Anthropic, OpenAI…', t('Connect'), () => act.remedy('configureModel'), setups.length === 0)}
      ${row(t('Another agent'), 'Claude Code, Codex, Gemini CLI…', t('Connect'), () => act.newSession({ pick: true }))}
    </ul>
  </section>`;
}

function startersView(profiles: readonly ProfileLine[], act: Act): TemplateResult | typeof nothing {
  if (profiles.length === 0) return nothing;
  return html`<section><div class="actions">
    ${profiles.map(
      (profile) =>
        html`<button class=${profile.isDefault ? 'button primary' : 'button'} type="button" @click=${() => act.newSession({ profile: profile.id })}>${profile.name}</button>`,
    )}
  </div></section>`;
}

/** Prompts that fit the folder. Without a model the bundled agent understands those of the guide, in either language. */
function examples({ tests, changes, readme }: View['around'], guide: boolean): readonly string[] {
  return [
    t('What is in this workspace?'),
    ...(guide ? [t('Find TODO')] : changes ? [t('Review my uncommitted changes')] : []),
    ...(tests ? [t('Run npm test')] : []),
    ...(readme ? [t('Read {0}', 'README.md')] : guide ? [] : [t('Create {0}', 'README.md')]),
  ].slice(0, MOST_EXAMPLES);
}
