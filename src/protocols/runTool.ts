import { parseJson } from '../base/json.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { Tool, ToolAnswer } from './ports.ts';

/** Milliseconds one of our tools may take. Time in which a user is being asked does not count: the session limits such a tool itself. */
export const TOOL_LIMIT = 60_000;
/** The size limit of a tool's text for the model, in UTF-16 units. */
const ANSWER_LIMIT = 400_000;

export interface ToolRun {
  readonly name: string;
  /** The arguments: JSON text (empty means none) or the value itself. */
  readonly input: unknown;
  /** Aborted when the answer is not needed any more. */
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly limit?: number;
}

/** Finds, checks, runs and limits one of our tools. Never throws and always answers: a failure is an answer that describes it. */
export async function runTool(tools: readonly Tool[], run: ToolRun): Promise<ToolAnswer> {
  const tool = tools.find((one) => one.name === run.name);
  if (!tool) return refuse(`There is no tool called "${run.name}". Known are: ${tools.map((one) => one.name).join(', ') || 'none'}.`);
  if (run.signal.aborted) return refuse('Cancelled before it began.');
  try {
    const input = typeof run.input === 'string' ? parse(run.input) : (run.input ?? {});
    // The library that checks is loaded at the first call of a tool.
    const { problems } = await import('./toolInput.ts');
    const wrong = problems(tool, input);
    if (wrong) return refuse(`Wrong arguments for ${tool.name}: ${wrong}.`);
    return shorten(await raced(tool, input, run));
  } catch (error) {
    run.log.warn(`The tool ${tool.name} failed: ${messageOf(error)}`);
    return refuse(messageOf(error));
  }
}

function refuse(text: string): ToolAnswer {
  return { ok: false, text };
}

function parse(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return parseJson(text);
  } catch (error) {
    throw new Error(`The arguments are not JSON: ${messageOf(error)}`);
  }
}

/** The tool, or the abort, or the limit, whichever comes first; the other two abort the tool. */
function raced(tool: Tool, input: unknown, run: ToolRun): Promise<ToolAnswer> {
  const stop = new AbortController();
  return new Promise((resolve, reject) => {
    const settle = (then: () => void): void => {
      clearTimeout(timer);
      run.signal.removeEventListener('abort', aborted);
      then();
    };
    const give = (why: string) => (): void => {
      stop.abort();
      settle(() => resolve(refuse(why)));
    };
    const aborted = give('Cancelled.');
    const limit = run.limit ?? TOOL_LIMIT;
    const asks = tool.confirm?.(input) !== undefined;
    const timer = asks ? undefined : setTimeout(give(`${tool.name} took longer than ${limit / 1000} s and was stopped.`), limit);
    run.signal.addEventListener('abort', aborted, { once: true });
    Promise.resolve()
      .then(() => tool.run(input, stop.signal))
      .then(
        (answer) => settle(() => resolve(answer)),
        (error: unknown) => settle(() => reject(error)),
      );
  });
}

function shorten(answer: ToolAnswer): ToolAnswer {
  const { text } = answer;
  return text.length <= ANSWER_LIMIT
    ? answer
    : { ...answer, text: `${text.slice(0, ANSWER_LIMIT)}\n… (${text.length - ANSWER_LIMIT} more characters)` };
}
