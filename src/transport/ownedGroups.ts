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

/**
 * `a` adds a group and `d` takes one away; the end of the input means that the owner has gone. Signals to the owner's group are not for it.
 *
 * Agents start commands in groups and sessions of their own. These are found as descendants of the groups while their parents are held, and have two
 * seconds to end by themselves: one may be the shell of another owner. What has detached itself, so that its parent is no descendant, lives on.
 * A process counts as the same by its number and the time at which it began.
 */
const SCRIPT = `trap '' HUP INT TERM QUIT
groups=' '
while read -r op pid; do
  case $op in
    a) groups="$groups$pid " ;;
    d) rest=' '; for one in $groups; do [ "$one" = "$pid" ] || rest="$rest$one "; done; groups=$rest ;;
  esac
done
[ "$groups" = ' ' ] && exit
list() {
  if [ -r /proc/self/stat ]; then
    for file in /proc/[0-9]*; do
      line=; read -r line < "$file/stat"
      set -- \${line##*) }
      [ $# -lt 20 ] || echo "\${file#/proc/} $2 $3 \${20}"
    done
  else
    ps -A -o pid= -o ppid= -o pgid= | while read -r pid parent group; do echo "$pid $parent $group -"; done
  fi
}
signal() { kill -s "$@" 2>/dev/null; }
for one in $groups; do signal STOP -- "-$one"; done
tree=' '; began=' '; led=' '; more=1
while [ $more = 1 ]; do
  more=0
  set -- $(list)
  while [ $# -ge 4 ]; do
    case $tree in *" $1 "*) shift 4; continue ;; esac
    case $groups in
      *" $3 "*) ;;
      *) case $tree in *" $2 "*) began="$began$1:$4 "; [ "$1" = "$3" ] && led="$led$3 " ;; *) shift 4; continue ;; esac ;;
    esac
    tree="$tree$1 "; more=1
    shift 4
  done
done
for one in $groups; do signal KILL -- "-$one"; done
[ "$began" = ' ' ] && exit
for one in $led; do signal TERM -- "-$one"; done
for one in $began; do signal TERM "\${one%:*}"; done
sleep 2
set -- $(list)
while [ $# -ge 4 ]; do
  case $began in *" $1:$4 "*) case $led in *" $3 "*) signal KILL -- "-$3" ;; *) signal KILL "$1" ;; esac ;; esac
  shift 4
done
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
