/** UTF-16 units of one message that are kept: more than the log shows of it. */
const MOST_KEPT = 32 * 1024;

/** The message, or a copy of its beginning: messages of an agent that are kept for later would fill the memory with what nobody reads. */
export function cutMessage(message: unknown): unknown {
  return leftBehind(message, MOST_KEPT) >= 0 ? message : beginningOf(message, { left: MOST_KEPT });
}

/** The rest of so many units; negative as soon as it is clear that the value needs more. */
function leftBehind(value: unknown, units: number): number {
  if (typeof value === 'string') return units - value.length - 3;
  if (typeof value !== 'object' || value === null) return units - 6;
  let left = units - 2;
  for (const name in value) {
    if (left < 0) return left;
    left = leftBehind((value as Readonly<Record<string, unknown>>)[name], Array.isArray(value) ? left : left - name.length - 3);
  }
  return left;
}

function beginningOf(value: unknown, budget: { left: number }): unknown {
  if (typeof value === 'string') {
    const kept = Math.max(0, budget.left);
    budget.left -= value.length + 3;
    // A slice would hold on to the whole text.
    return value.length <= kept ? value : `${Buffer.from(value.slice(0, kept)).toString()}… (${value.length} characters)`;
  }
  budget.left -= 6;
  if (typeof value !== 'object' || value === null) return value;
  const members: [string, unknown][] = [];
  for (const name in value) {
    if (budget.left <= 0) {
      members.push(['…', '…']);
      break;
    }
    budget.left -= Array.isArray(value) ? 0 : name.length + 3;
    members.push([name, beginningOf((value as Readonly<Record<string, unknown>>)[name], budget)]);
  }
  return Array.isArray(value) ? members.map(([, one]) => one) : Object.fromEntries(members);
}
