import type { AdapterContext, Protocol } from '../../src/protocols/adapter.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Intent } from '../../src/session/intents.ts';
import type { Offers } from '../../src/session/model.ts';

/** A protocol whose adapter is played by hand: what it was told, and a mouth. */
export function scriptedProtocol() {
  const conversations: Conversation[] = [];
  class Conversation {
    readonly scene: AdapterContext;
    readonly heard: Intent[] = [];
    disposed = 0;
    constructor(scene: AdapterContext) {
      this.scene = scene;
    }
    say(...events: readonly SessionEvent[]): void {
      for (const event of events) this.scene.emit(event);
    }
    ready(offers: Offers = {}): void {
      this.say({ type: 'link.ready', agent: { protocol: 'scripted', name: 'Fake' }, offers });
    }
    endTurn(status: 'done' | 'cancelled' | 'failed' = 'done'): void {
      const turnId = this.prompts().at(-1)?.turnId ?? '';
      this.say({ type: 'turn.ended', turnId, at: 2, status });
    }
    prompts(): readonly Extract<Intent, { type: 'prompt' | 'command' }>[] {
      return this.heard.filter((intent) => intent.type === 'prompt' || intent.type === 'command');
    }
  }
  const protocol: Protocol = {
    title: 'Scripted',
    launch: 'process',
    open(_launch, scene) {
      const conversation = new Conversation(scene);
      conversations.push(conversation);
      return {
        send(intent) {
          conversation.heard.push(intent);
          if (intent.type === 'prompt' && intent.replaces !== undefined) scene.emit({ type: 'turns.removed', from: intent.replaces });
          if (intent.type === 'prompt' || intent.type === 'command') {
            scene.emit({ type: 'turn.started', turnId: intent.turnId, at: 1, prompt: intent.type === 'prompt' ? intent.content : [] });
          }
          if (intent.type === 'answer') scene.emit({ type: 'ask.closed', askId: intent.askId, how: 'answered' });
        },
        fork: async () => 'copy',
        ended: Promise.resolve(),
        dispose() {
          conversation.disposed += 1;
        },
      };
    },
  };
  return { protocol, conversations, last: () => conversations.at(-1) ?? raise() };
}

function raise(): never {
  throw new Error('no conversation was opened');
}
