/** Settles as soon as the condition holds; the limit of the test is the limit. */
export async function settled(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}
