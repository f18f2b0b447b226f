import type { TalkSetup } from '../talk.ts';

/** The line that has to be the very first one (qwen.md §2.3). */
export function initializeRequest(setup: Pick<TalkSetup, 'peer' | 'initId'>, withTools: boolean): object {
  const { peer, initId } = setup;
  return {
    type: 'control_request',
    request_id: initId,
    request: {
      subtype: 'initialize',
      hooks: null,
      ...(peer.approvalLimit === undefined ? {} : { timeout: { canUseTool: peer.approvalLimit } }),
      ...(withTools ? { sdkMcpServers: peer.announce(peer.server) } : {}),
    },
  };
}
