import type { Usage } from '../../../session/model.ts';

/** What a conversation has used and cost, where the agent counts on although the conversation has started over. */
export class Spent {
  #total: Usage = {};
  #before: Usage = {};

  /** Of the agent's totals, what belongs to the conversation that is going on. */
  since(total: Usage): Usage {
    // An agent that counts anew is below what it said before.
    if (isLess(total, this.#total)) this.#before = {};
    this.#total = { ...this.#total, ...total };
    const { input, output, cost, ...rest } = total;
    const left = (now: number, then: number | undefined) => Math.max(0, now - (then ?? 0));
    return {
      ...rest,
      ...(input === undefined ? {} : { input: left(input, this.#before.input) }),
      ...(output === undefined ? {} : { output: left(output, this.#before.output) }),
      ...(cost === undefined ? {} : { cost: { ...cost, amount: left(cost.amount, this.#before.cost?.amount) } }),
    };
  }

  /** What was used so far belongs to what is forgotten. */
  startOver(): void {
    this.#before = this.#total;
  }
}

function isLess(now: Usage, then: Usage): boolean {
  return (
    (now.cost?.amount ?? Number.POSITIVE_INFINITY) < (then.cost?.amount ?? 0) ||
    (now.output ?? Number.POSITIVE_INFINITY) < (then.output ?? 0)
  );
}
