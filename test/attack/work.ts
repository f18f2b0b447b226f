/** How often a run tries a regular expression: a measure of its work that is the same on every machine. */
export function triesIn(run: () => unknown): number {
  const { exec } = RegExp.prototype;
  let tries = 0;
  RegExp.prototype.exec = function count(text) {
    tries += 1;
    return exec.call(this, text);
  };
  try {
    run();
  } finally {
    RegExp.prototype.exec = exec;
  }
  return tries;
}
