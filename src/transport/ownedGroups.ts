import { type ChildProcess, spawn } from 'node:child_process';
import { LeftBehind } from './leftBehind.ts';
import { killTreeNow } from './processTree.ts';

/**
 * Process groups this process has started and answers for: they end when it ends, however it ends. A normal end kills them here. For a SIGKILL or a
 * crash a small shell waits: it reads from a pipe which groups there are, and kills what is left of them when the pipe closes. Not on Windows,
 * where only a normal end is covered.
 */
const groups = new Set<number>();
const onWindows = process.platform === 'win32';
const left = new LeftBehind();
let endsLeft = false;
let reaper: ChildProcess | undefined;
let listening = false;
/** Times that the shell has ended before its input did; at most so often another one is started. */
let restarts = 0;
const MOST_RESTARTS = 100;

/** `a` adds a group and `d` takes one away; the end of the input means that the owner has gone. Signals to the owner's group are not for it. */
const SCRIPT = `trap '' HUP INT TERM QUIT
groups=' '
while read -r op pid; do
  case $op in
    a) groups="$groups$pid " ;;
    d) rest=' '; for one in $groups; do [ "$one" = "$pid" ] || rest="$rest$one "; done; groups=$rest ;;
  esac
done
for one in $groups; do kill -s KILL -- "-$one" 2>/dev/null; done
`;

/**
 * Answers for the group of a child from now on, which has just been started. `untilEnd`: on Windows the end of this process takes a second to find what
 * the child may have left.
 */
export function ownGroup(child: ChildProcess, untilEnd = false): void {
  const { pid } = child;
  if (pid === undefined) return;
  if (onWindows) {
    left.lives.started(pid);
    child.once('exit', () => {
      left.lives.exited(pid);
      // Its number may be that of another process by now.
      groups.delete(pid);
    });
    endsLeft ||= untilEnd;
  }
  if (!listening) {
    listening = true;
    process.once('exit', endOwnedGroups);
  }
  groups.add(pid);
  send(`a ${pid}\n`);
}

/** The group has ended, or lives on by intent. */
export function disownGroup(pid: number): void {
  if (groups.delete(pid)) send(`d ${pid}\n`);
}

/** Kills the processes left in the group of an exited one. On Windows it takes a second to find them. */
export function killLeftBehind(pid: number): void {
  if (onWindows) {
    void left.end(pid);
    return;
  }
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing was left.
  }
}

/** Ends all of them at once, by force. */
export function endOwnedGroups(): void {
  for (const pid of groups) {
    killTreeNow(pid);
    send(`d ${pid}\n`);
  }
  groups.clear();
  if (endsLeft) left.endNow();
}

function send(line: string): void {
  if (onWindows) return;
  if (reaper) reaper.stdin?.write(line);
  else standBy();
}

/** Starts the shell and tells it of all groups. */
function standBy(): void {
  reaper = startReaper();
  for (const pid of groups) reaper.stdin?.write(`a ${pid}\n`);
}

/** Starts the shell in a session of its own, without keeping this process alive. */
function startReaper(): ChildProcess {
  const started = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], cwd: '/', env: {} });
  const gone = () => {
    if (reaper !== started) return;
    reaper = undefined;
    // A command may have ended it, to outlive this process.
    restarts += 1;
    if (groups.size > 0 && restarts <= MOST_RESTARTS) standBy();
  };
  started.once('error', gone);
  started.once('exit', gone);
  started.stdin.on('error', gone);
  started.unref();
  const pipe = started.stdin as typeof started.stdin & { unref?: () => void };
  pipe.unref?.();
  return started;
}
