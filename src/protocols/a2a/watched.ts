/**
 * Stands in for a program that nobody can be loaded into: becomes the program, and leaves a watch beside it in its process group, which ends the
 * group once the editor's end of its input is closed, however the editor ended.
 */
const WATCH = 'exec 3<&0; (trap "" TERM; cat <&3; kill -TERM 0; sleep 3; kill -KILL 0) >/dev/null 2>&1 & exec 3<&-; exec "$@"';

/** A command line under a watch, for a process that leads its own group. Windows knows no such groups; it is left as it is there. */
export function watched(command: string, args: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
  if (process.platform === 'win32') return { command, args };
  return { command: '/bin/sh', args: ['-c', WATCH, 'sh', command, ...args] };
}
