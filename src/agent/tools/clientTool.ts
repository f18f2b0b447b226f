import type { Frontend } from '../frontend.ts';
import type { ToolOffer } from '../models/model.ts';
import { checkerOf } from './schemaCheck.ts';
import { type Tool, ToolFailure } from './tool.ts';

/** A tool the client runs. Its arguments are checked here first; whether it may run is the client's business. */
export function clientTool(offer: ToolOffer, frontend: Frontend): Tool {
  return {
    ...offer,
    reads: false,
    lent: true,
    run: async (input, scene) => {
      const problem = (await checkerOf(offer.parameters))(input);
      if (problem !== undefined) throw new ToolFailure(`Invalid arguments: ${problem}`);
      return frontend.callClient({ id: scene.callId, name: offer.name, input: JSON.stringify(input) }, scene.signal);
    },
  };
}
