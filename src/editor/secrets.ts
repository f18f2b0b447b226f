import type * as vscode from 'vscode';
import type { Secrets as AgentSecrets } from '../protocols/ports.ts';

const MODEL_KEY = 'parley.model.apiKey';

/** Keys and tokens, in the editor's own secret storage. */
export class EditorSecrets {
  readonly #storage: vscode.SecretStorage;

  constructor(storage: vscode.SecretStorage) {
    this.#storage = storage;
  }

  async modelKey(): Promise<string | undefined> {
    return this.#storage.get(MODEL_KEY);
  }

  async setModelKey(key: string | undefined): Promise<void> {
    if (key) await this.#storage.store(MODEL_KEY, key);
    else await this.#storage.delete(MODEL_KEY);
  }

  /** The secrets a user entered for one agent, separate from those of others. */
  forAgent(profile: string): AgentSecrets {
    const nameOf = (name: string) => `parley.agent.${JSON.stringify([profile, name])}`;
    return {
      get: async (name) => this.#storage.get(nameOf(name)),
      set: async (name, value) => (value === undefined ? this.#storage.delete(nameOf(name)) : this.#storage.store(nameOf(name), value)),
    };
  }

  onModelKey(listener: () => void): vscode.Disposable {
    return this.#storage.onDidChange((event) => {
      if (event.key === MODEL_KEY) listener();
    });
  }
}
