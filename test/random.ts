/** Deterministic numbers from a seed, each from 0 to below what is asked for. */
export function randomFrom(seed: number) {
  let state = Math.imul(seed + 1, 2654435761);
  return (below: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 1 | state) + 0x6d2b79f5) | 0;
    return below === 0 ? 0 : ((state ^ (state >>> 14)) >>> 0) % below;
  };
}
export type Random = ReturnType<typeof randomFrom>;
