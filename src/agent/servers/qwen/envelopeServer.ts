import { errorLine, fatalLine, heartbeatResult, type Line, readRequest, recordOf, unreadableId } from '../../../protocols/qwen/codec.ts';
import { cancelRequest, chatRequest, hintRequest } from '../../../protocols/qwen/schema.ts';
import { fromMessages } from './chatRequest.ts';
import { Client } from './client.ts';
import { ConversationNames } from './conversationNames.ts';
import { EnvelopeChat } from './envelopeChat.ts';
import { HintAnswers } from './hints.ts';
import type { QwenServer, QwenServerOptions } from './server.ts';

/** The envelope dialect, as the RFC describes its command line (docs/protocols/qwen.md §4): each line of the client to where it belongs. */
export class EnvelopeServer implements QwenServer {
  readonly #options: QwenServerOptions;
  readonly #names: ConversationNames;
  readonly #client: Client;
  readonly #chat: EnvelopeChat;
  readonly #hints: HintAnswers;

  constructor(options: QwenServerOptions) {
    const names = new ConversationNames(options.session);
    this.#options = options;
    this.#names = names;
    this.#client = new Client('envelope', (line) => options.write({ ...line, session_id: names.session, prompt_id: names.prompt }));
    this.#chat = new EnvelopeChat(options, names, this.#client);
    this.#hints = new HintAnswers(options.write);
  }

  take(line: Line): void {
    switch (line.type) {
      case 'heartbeat_request':
        return this.#options.write(heartbeatResult(this.#names.session, Math.floor(Date.now() / 1000)));
      case 'command_hint_request':
        return this.#hint(line);
      case 'command_hint_cancel':
        return this.#hints.cancel(line.prompt_id);
      case 'control/cancel':
        return this.#cancel(line);
      case 'control_response':
        if (!this.#client.take(line)) this.#chat.unknownReply(line);
        return;
      case 'control_request':
        return this.#refuseRequest(line);
      case undefined:
        return this.#prompt(line);
      default:
        return this.#chat.log('warn', `A line of an unknown type "${String(line.type).slice(0, 100)}" is ignored`);
    }
  }

  log(level: string, text: string): void {
    this.#chat.log(level, text);
  }

  async end(): Promise<void> {
    this.#client.end();
    await this.#chat.end();
  }

  #prompt(line: Line): void {
    const version = recordOf(line.metadata).protocol_version;
    if (version !== undefined && !/^1(\.|$)/.test(String(version))) {
      this.#chat.refuseVersion(String(version));
      return this.#options.exit(1);
    }
    const request = chatRequest.safeParse(fromMessages(line));
    if (request.success) return this.#chat.prompt(request.data);
    const [issue] = request.error.issues;
    const param = issue?.path.join('.') || 'input';
    this.#fatal(`a chat request needs a valid "${param}"`, 'QWEN_INVALID_INPUT', param);
  }

  #hint(line: Line): void {
    const request = hintRequest.safeParse(line);
    const { commands } = this.#chat;
    const { cwd } = this.#options.workspace;
    if (request.success) void this.#hints.answer(request.data, { session: this.#names.session, cwd, commands });
    else this.#hints.refuse(this.#names.session, line, `The request has no valid "${request.error.issues[0]?.path.join('.')}".`);
  }

  #cancel(line: Line): void {
    const { session_id, prompt_id, request_id } = cancelRequest.safeParse(line).data ?? {};
    this.#chat.cancel(session_id, prompt_id, request_id);
  }

  /** A client asks nothing on this channel. */
  #refuseRequest(line: Line): void {
    const id = unreadableId(line);
    const subtype = readRequest(line)?.subtype ?? '';
    if (id !== undefined) this.#options.write(errorLine('envelope', id, `Unknown control request subtype: ${subtype}`, false));
  }

  #fatal(message: string, code: string, param: string): void {
    this.#options.write(fatalLine(message, code, param));
    this.#options.exit(1);
  }
}
