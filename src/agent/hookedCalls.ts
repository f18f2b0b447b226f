import type { CallWatch } from './calls.ts';
import type { Frontend } from './frontend.ts';

const PLANNING =
  'Plan mode is on: nothing may be changed and no command run. Finish the plan, or ask the user to switch plan mode off (/plan off).';

/** What stands before and after every call: plan mode, and the client's hooks. */
export function hookedCalls(frontend: Frontend, planning: () => boolean): CallWatch {
  return {
    before: async (call, input, tool, signal) => {
      if (planning() && !tool.reads && tool.lent !== true) return PLANNING;
      const reason = await frontend.hook(
        'PreToolUse',
        call.name,
        { tool_name: call.name, tool_input: input, tool_call_id: call.id },
        signal,
      );
      return reason === undefined ? undefined : `Blocked by a hook: ${reason}`;
    },
    after: async (call, input, outcome, signal) => {
      const data = { tool_name: call.name, tool_input: input, tool_call_id: call.id };
      if (outcome.isError) await frontend.hook('PostToolUseFailure', call.name, { ...data, error: outcome.message }, signal);
      else await frontend.hook('PostToolUse', call.name, { ...data, tool_output: outcome.text.slice(0, 10_000) }, signal);
    },
  };
}
