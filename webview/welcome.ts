import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { ProfileLine } from '../src/bridge/contract.ts';
import { t } from './strings.ts';
import type { Act } from './view.ts';

/** What is shown while nothing has been said. `ask` sends an example. */
export function welcomeView(
  profiles: readonly ProfileLine[],
  /** The agent of the session, while there is one. */
  agent: string | undefined,
  trusted: boolean,
  act: Act,
  ask: (text: string) => void,
): TemplateResult {
  return html`<div class="welcome">
    <h2>Parley</h2>
    <p>${t('Talk with any coding agent. It reads and changes your files, asks before it acts, and shows what it did.')}</p>
    ${trusted ? nothing : untrusted(act)}
    ${trusted && (agent === undefined || agent === profiles[0]?.name) ? guide(agent !== undefined, act) : nothing}
    ${!trusted || agent !== undefined ? nothing : starters(profiles, act)}
    ${
      trusted
        ? html`<h3>${t('Try one of these')}</h3>
            <ul class="examples">
              ${examples().map((text) => html`<li><button class="example" type="button" @click=${() => ask(text)}>${text}</button></li>`)}
            </ul>`
        : nothing
    }
  </div>`;
}

function untrusted(act: Act): TemplateResult {
  return html`<div class="fault level-warn">
    <div class="fault-text">
      <p>${t('Agents can run commands and change files, so they start only in a folder you trust.')}</p>
      <div class="actions"><vscode-button @click=${() => act.trust()}>${t('Manage workspace trust')}</vscode-button></div>
    </div>
  </div>`;
}

/** What the bundled agent, the first of the list, is; a model is set up from inside a session. */
function guide(hasSession: boolean, act: Act): TemplateResult {
  return html`<p class="faint">${t('An offline guide is included: it needs no key and finds, reads, edits and runs what you say in plain words. It is no language model.')}</p>
    <div class="side-actions">
      ${hasSession ? html`<button class="text-button" type="button" @click=${() => act.remedy('configureModel')}>${t('Set up a model')}</button>` : nothing}
      <button class="text-button" type="button" @click=${() => act.newSession({ pick: true })}>${t('Choose another agent')}</button>
    </div>`;
}

function starters(profiles: readonly ProfileLine[], act: Act): TemplateResult | typeof nothing {
  if (profiles.length === 0) return nothing;
  return html`<h3>${t('Start with')}</h3>
    <div class="profiles">
      ${profiles.map(
        (profile) =>
          html`<vscode-button appearance=${profile.isDefault ? 'primary' : 'secondary'} @click=${() => act.newSession({ profile: profile.id })}>${profile.name}</vscode-button>`,
      )}
    </div>`;
}

/** What the bundled agent understands without a model, in either language. */
const examples = () => [t('What is in this workspace?'), t('Find TODO'), t('Run npm test')];
