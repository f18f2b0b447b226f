import type { GuardReason } from '../base/guardedFiles.ts';
import { GIT_PROGRAMS, NPM_PROGRAMS, optionName } from './programOptions.ts';
import { sedEffects } from './sedScript.ts';
import type { ShellWord } from './shellWords.ts';

/* The only list of dangerous programs, with reasons. commandDangers.ts reads the commands inside shells and interpreters. */

/** One program as a rule of the table sees it. */
export interface ProgramCall {
  /** Without folder and ending, in small letters. */
  readonly program: string;
  readonly args: readonly ShellWord[];
  /** The arguments that are not options. */
  readonly operands: readonly ShellWord[];
  readonly piped: boolean;
}
export interface Rule {
  readonly kind:
    | 'root'
    | 'steers'
    | 'publishes'
    | 'sends'
    | 'history'
    | 'overwrites'
    | 'settings'
    | 'discards'
    | 'data'
    | 'deletes'
    | 'stops'
    | 'rights'
    | 'code'
    | 'network'
    | 'unsure';
  /** The effect is irreversible, or reaches further than the files at hand. */
  readonly grave?: true;
  readonly why?: GuardReason;
  /** True, or the last word that shows it, when the call does this. `listed`: another program supplies its last arguments. */
  readonly when?: (call: ProgramCall, listed: boolean) => boolean | ShellWord;
}

const table = new Map<string, Rule[]>();
export const RULES: ReadonlyMap<string, readonly Rule[]> = table;

function of(programs: string, ...rules: readonly Rule[]): void {
  for (const program of programs.split(/\s+/)) table.set(program, [...(table.get(program) ?? []), ...rules]);
}

/** An option in its short form, also among others (`-rf`), or its long one, also cut as programs allow (`--forc`). */
function option({ args }: Pick<ProgramCall, 'args'>, letters: string, ...long: readonly string[]): ShellWord | undefined {
  return args.find(({ text }) => {
    if (/^-[A-Za-z]/.test(text)) return letters !== '' && [...letters].some((one) => /^-[A-Za-z]+/.exec(text)?.[0].includes(one));
    const name = text.split('=', 1)[0] ?? '';
    return name.length > 4 && long.some((one) => one.startsWith(name));
  });
}

/** A long option that is one of these names, cut anywhere or with more behind a dash: programs take the beginning of a name for all of it. */
function cutOption({ args }: Pick<ProgramCall, 'args'>, long: readonly string[]): ShellWord | undefined {
  return args.find(({ text }) => {
    const name = optionName(text);
    return name.length > 1 && long.some((one) => one.startsWith(name) || name.startsWith(`${one}-`));
  });
}

/** A switch of PowerShell or cmd, in any case, PowerShell's also cut. */
function winSwitch({ args }: Pick<ProgramCall, 'args'>, ...names: readonly string[]): ShellWord | undefined {
  return args.find(({ text }) => {
    const name = text.toLowerCase().split(':', 1)[0] ?? '';
    return names.some((one) => name === one || (one.length > 3 && name.length >= 3 && one.startsWith(name)));
  });
}

/** The words of a sub-command: `git remote set-url`. */
function sub({ operands }: ProgramCall, pattern: RegExp): ShellWord | undefined {
  const words = operands.slice(0, 3).map(({ text }) => text.toLowerCase());
  const match = pattern.exec(words.join(' '));
  if (match?.index !== 0) return undefined;
  return operands[Math.max(0, match[0].trim().split(' ').length - 1)];
}

const some = (call: ProgramCall, pattern: RegExp) => call.args.find(({ text }) => pattern.test(text));
const isWide = ({ text, expands }: ShellWord) => expands || /[*?[{]/.test(text) || /^(?:\.{1,2}|[/~]|\/)$|[\\/]$/.test(text);

// --- Files that are gone for good: no undo, no trash. One named file is marked only.
const wholeTree = (call: ProgramCall, listed: boolean) =>
  option(call, 'rR', '--recursive', '--no-preserve-root') ?? (listed || call.operands.find(isWide) || call.operands.length > 5);
of('rm unlink', { kind: 'deletes' }, { kind: 'deletes', grave: true, when: (call, listed) => wholeTree(call, listed) });
of(
  'gio',
  { kind: 'deletes', when: (call) => sub(call, /^(?:trash|remove)\b/) ?? false },
  { kind: 'deletes', grave: true, when: (call, listed) => (sub(call, /^(?:trash|remove)\b/) ? wholeTree(call, listed) : false) },
);
of('rimraf del-cli trash', { kind: 'deletes', grave: true });
of('shred srm wipe', { kind: 'deletes', grave: true });
of('rmdir', { kind: 'deletes' }, { kind: 'deletes', grave: true, when: (call) => winSwitch(call, '/s') ?? false });
of(
  'del erase rd ri remove-item remove-itemproperty clear-content clc',
  { kind: 'deletes' },
  {
    kind: 'deletes',
    grave: true,
    when: (call, listed) =>
      winSwitch(call, '/s', '-recurse', '-force', '/f') ??
      option(call, 'rR') ??
      (listed || call.piped || call.operands.find(isWide) || false),
  },
);
of('find fd', { kind: 'deletes', grave: true, when: (call) => some(call, /^-delete$/) ?? false });
of('rsync', { kind: 'deletes', grave: true, when: (call) => some(call, /^--(?:del|remove-source)/) ?? false });
of('robocopy', { kind: 'deletes', grave: true, when: (call) => winSwitch(call, '/mir', '/purge', '/move') ?? false });
of('wevtutil', { kind: 'deletes', grave: true, when: (call) => sub(call, /^(?:cl|clear-log)\b/) ?? false });
of('vssadmin wbadmin', { kind: 'deletes', grave: true, when: (call) => sub(call, /^delete\b/) ?? false });
of('clear-recyclebin', { kind: 'deletes', grave: true });
// Programs of the computer, backups, keys, versions of languages.
of(
  `apt apt-get dnf yum apk zypper brew snap flatpak port winget choco scoop pacman rustup nvm fnm volta rbenv pyenv conda mamba restic borg gpg gpg2 keytool
  nix-collect-garbage`.replace(/\s+/g, ' '),
  {
    kind: 'deletes',
    grave: true,
    when: (call) =>
      call.program === 'nix-collect-garbage' ||
      (some(call, /^(?:uninstall|remove|purge|autoremove|autoclean|erase|del|forget|prune|-{0,2}delete[\w-]*|-R[a-z]*)$/) ?? false),
  },
);

// --- Contents that are written over.
of('truncate', { kind: 'overwrites', grave: true });
of('dd', { kind: 'overwrites', grave: true, when: (call) => some(call, /^of=(?!\/dev\/null)/) ?? false });
of(
  'mkfs mke2fs mkswap fdisk sfdisk cfdisk gdisk sgdisk parted wipefs blkdiscard hdparm cryptsetup diskpart format format-volume clear-disk initialize-disk remove-partition',
  { kind: 'overwrites', grave: true },
);
for (const type of 'ext2 ext3 ext4 xfs btrfs vfat fat ntfs exfat f2fs'.split(' ')) of(`mkfs.${type}`, { kind: 'overwrites', grave: true });
of('diskutil', {
  kind: 'overwrites',
  grave: true,
  when: (call) => sub(call, /^(?:erase\w*|partition\w*|secureerase|reformat|zerodisk)/) ?? false,
});
of('cipher', { kind: 'overwrites', grave: true, when: (call) => some(call, /^\/w/i) ?? false });
of('cp mv', { kind: 'overwrites', grave: true, when: (call) => some(call, /^\/dev\/(?:null|zero|sd|nvme|disk)/) ?? false });

// --- Git: uncommitted changes, commits that only a name holds, and commits that others have.
/** A call of Git without the options before its command. */
export function withoutGitOptions(call: ProgramCall): ProgramCall {
  let at = 0;
  while (at < call.args.length && /^-/.test(call.args[at]?.text ?? ''))
    at += /^(?:-C|-c|--git-dir|--work-tree|--namespace)$/.test(call.args[at]?.text ?? '') ? 2 : 1;
  const args = call.args.slice(at);
  return { ...call, args, operands: args.filter(({ text }) => !/^-./.test(text)) };
}
const gitRule = (command: RegExp, how: (call: ProgramCall) => boolean | ShellWord | undefined) => (call: ProgramCall) => {
  const own = withoutGitOptions(call);
  return command.test(own.operands[0]?.text ?? '') ? (how(own) ?? false) : false;
};
const places = (call: ProgramCall) => call.operands.slice(1).find(({ text }) => text === '.' || /[*?]|^:[/(]/.test(text));
/** With the end of a file's name, unlike those of branches and versions. */
const named = (call: ProgramCall) => call.operands.slice(1).find(({ text }) => FILE.test(text));
const FILE = /(?:^|\/)[^/\d][^/]{0,200}\.(?:[a-z]{2,5}|c|h)$/i;
of(
  'git',
  { kind: 'discards', grave: true, when: gitRule(/^reset$/, (call) => option(call, '', '--hard', '--merge', '--keep')) },
  {
    kind: 'discards',
    grave: true,
    when: gitRule(
      /^checkout$/,
      (call) => call.args.slice(1).find(({ text }) => text === '--') ?? option(call, 'fB', '--force') ?? places(call) ?? named(call),
    ),
  },
  {
    kind: 'discards',
    grave: true,
    when: gitRule(/^restore$/, (call) => !option(call, 'S', '--staged') || option(call, 'W', '--worktree') !== undefined),
  },
  {
    kind: 'discards',
    grave: true,
    when: gitRule(/^switch$/, (call) => option(call, 'fC', '--force', '--discard-changes', '--force-create')),
  },
  { kind: 'discards', grave: true, when: gitRule(/^stash$/, (call) => call.operands.find(({ text }) => /^(?:drop|clear)$/.test(text))) },
  { kind: 'discards', grave: true, when: gitRule(/^branch$/, (call) => option(call, 'Df', '--force')) },
  { kind: 'discards', grave: true, when: gitRule(/^(?:filter-branch|filter-repo|prune|update-ref|replace)$/, () => true) },
  { kind: 'discards', when: gitRule(/^(?:tag|notes)$/, (call) => option(call, 'd', '--delete') ?? sub(call, /^notes (?:remove|prune)\b/)) },
  {
    kind: 'discards',
    grave: true,
    when: gitRule(/^reflog$/, (call) => call.operands.find(({ text }) => /^(?:expire|delete)$/.test(text))),
  },
  { kind: 'discards', grave: true, when: gitRule(/^read-tree$/, (call) => option(call, 'u', '--reset')) },
  { kind: 'discards', grave: true, when: gitRule(/^checkout-index$/, (call) => option(call, 'f', '--force')) },
  { kind: 'discards', grave: true, when: gitRule(/^gc$/, (call) => option(call, '', '--prune', '--aggressive')) },
  {
    kind: 'discards',
    grave: true,
    when: gitRule(/^worktree$/, (call) => (call.operands[1]?.text === 'remove' ? option(call, 'f', '--force') : false)),
  },
  {
    kind: 'deletes',
    grave: true,
    when: gitRule(/^clean$/, (call) => (option(call, 'n', '--dry-run') ? false : option(call, 'fxXd', '--force'))),
  },
  { kind: 'deletes', when: gitRule(/^rm$/, () => true) },
  {
    kind: 'deletes',
    grave: true,
    when: gitRule(/^rm$/, (call) => (option(call, '', '--cached') ? false : (option(call, 'rf') ?? places(call)))),
  },
  {
    kind: 'history',
    grave: true,
    when: gitRule(
      /^push$/,
      (call) =>
        option(call, 'fd', '--force', '--force-with-lease', '--force-if-includes', '--mirror', '--delete', '--prune') ??
        call.operands.slice(1).find(({ text }) => /^[+:]./.test(text)),
    ),
  },
  {
    kind: 'network',
    when: gitRule(/^(?:push|pull|fetch|clone|ls-remote|submodule|remote|lfs)$/, (call) =>
      /^(?:remote|lfs)$/.test(call.operands[0]?.text ?? '')
        ? /^(?:update|pull|fetch|push|clone)$/.test(call.operands[1]?.text ?? '')
        : true,
    ),
  },
  {
    kind: 'code',
    grave: true,
    when: (call) =>
      gitSetting(call) ??
      cutOption(call, GIT_PROGRAMS) ??
      some(call, /(?:^|=)(?:ext|fd)::/i) ??
      gitRule(/^grep$/, (own) => option(own, 'O'))(call),
  },
  { kind: 'code', grave: true, when: gitRule(/^clone$/, (call) => option(call, 'u', '--template')) },
  { kind: 'code', grave: true, when: gitRule(/^init$/, (call) => option(call, '', '--template')) },
  { kind: 'steers', why: 'versionControl', when: gitRule(/^config$/, writtenGitSetting) },
  // The next push goes there.
  { kind: 'steers', why: 'versionControl', when: gitRule(/^remote$/, (call) => call.operands.find(({ text }) => text === 'set-url')) },
  {
    kind: 'code',
    grave: true,
    when: gitRule(
      /^(?:bisect|rebase|submodule)$/,
      (call) => call.operands.find(({ text }) => /^(?:run|foreach)$/.test(text)) ?? option(call, 'x', '--exec'),
    ),
  },
  { kind: 'code', grave: true, when: gitRule(/^(?:difftool|mergetool)$/, (call) => option(call, 'x', '--extcmd')) },
  { kind: 'code', grave: true, when: gitRule(/^(?:hook|send-email|daemon|instaweb|web--browse)$/, () => true) },
  // The text of a patch names the files that it changes.
  {
    kind: 'unsure',
    grave: true,
    when: gitRule(/^(?:apply|am)$/, (call) => !option(call, '', '--check', '--stat', '--numstat', '--summary', '--abort', '--quit')),
  },
  { kind: 'overwrites', grave: true, when: (call) => some(call, /^--outp(?:u|ut|ut-.*)?(?:=|$)/) ?? false },
);
// So do the names in an archive that another program prints, unless they are below a folder of their own.
of('tar gtar bsdtar cpio', {
  kind: 'unsure',
  grave: true,
  when: (call) => {
    const folder = call.args.findIndex(({ text }) => /^(?:-?[a-zA-Z]*C|--directory)$/.test(text));
    const isApart = folder >= 0 && !/^(?:\.\/?)?$/.test(call.args[folder + 1]?.text ?? '');
    const unpacks = call.program === 'cpio' ? /^-[a-zA-Z]*i/ : /^-[a-zA-Z]*x|^--(?:ext|get)/;
    const shows = some(call, /^(?:-[a-zA-Z]*[Ot]|--to-stdout|--list)$/) !== undefined;
    if (!call.piped || isApart || shows) return false;
    return some(call, unpacks) ?? call.args.slice(0, 1).find(({ text }) => /^[a-zA-Z]*x[a-zA-Z]*$/.test(text)) ?? false;
  },
});
of('patch', { kind: 'unsure', grave: true, when: (call) => !some(call, /^(?:-C|--check|--dry-run|--help|--version|-v)$/) });
/** Settings for one command that name no program. Every other one counts, because many settings name programs. */
const PLAIN_GIT_SETTING =
  /^(?:user|color|advice|log|pull|push|fetch|rerere|status|safe|grep|pack|gc|index|branch|tag|column|versionsort)\.[^=!]+(?:=|$)|^(?:core\.(?:quotepath|autocrlf|eol|abbrev|longpaths|filemode|ignorecase|safecrlf|untrackedcache|preloadindex|fscache|precomposeunicode)|core\.pager=cat$|(?:core|sequence)\.editor=(?:true|:|cat)$|pager\.\w+=(?:cat|false)$|init\.defaultbranch|commit\.gpgsign|commit\.cleanup|merge\.(?:conflictstyle|ff|renames)|diff\.(?:renames|algorithm|noprefix|mnemonicprefix|context|colormoved)|http\.(?:version|postbuffer|lowspeedlimit|lowspeedtime))(?:=|$)/i;
function gitSetting(call: ProgramCall): ShellWord | undefined {
  const own = withoutGitOptions(call);
  const isClone = own.operands[0]?.text === 'clone';
  const before = isClone ? call.args : call.args.slice(0, call.args.length - own.args.length);
  return before.find(({ text }, at) => {
    const glued = /^(?:-c|--config=)(.+)$/.exec(text)?.[1];
    const value = glued ?? (/^(?:-c|--config)$/.test(before[at - 1]?.text ?? '') ? text : undefined);
    return value !== undefined && !PLAIN_GIT_SETTING.test(value);
  });
}
/** Settings that may be kept for a repository: they name no program, file or place. */
const KEPT_GIT_SETTING =
  /^(?:user|color|advice|column|versionsort|rerere)\.|^(?:pull\.(?:rebase|ff)|push\.(?:default|autosetupremote|followtags)|fetch\.prune|init\.defaultbranch|core\.(?:quotepath|autocrlf|eol|abbrev|longpaths|filemode|ignorecase|safecrlf|precomposeunicode)|commit\.(?:gpgsign|cleanup|verbose)|tag\.(?:gpgsign|sort)|branch\.(?:sort|autosetupmerge|autosetuprebase)|merge\.(?:conflictstyle|ff|renames)|diff\.(?:renames|algorithm|noprefix|mnemonicprefix|context|colormoved)|rebase\.(?:autosquash|autostash)|log\.(?:date|decorate|follow)|status\.\w+)$/i;
/** Settings that a call of `git config` changes beyond these. */
function writtenGitSetting({ args, operands }: ProgramCall): ShellWord | undefined {
  const [, first, ...others] = operands;
  const [mode = '', key] = /^(?:get|list|set|unset|edit|rename-section|remove-section)$/.test(first?.text ?? '')
    ? [first?.text, others[0]]
    : ['', first];
  const shown = first ?? args.at(-1);
  if (mode === 'get' || mode === 'list') return undefined;
  const flag = (pattern: RegExp) => args.some(({ text }) => pattern.test(text));
  if (mode === 'edit' || flag(/^(?:-e|--ed\w*)$/)) return shown;
  const changes = mode !== '' || flag(/^--(?:unset|add|rep|ren|rem)/);
  if (!changes && flag(/^(?:-l|--(?:get|li)[\w-]*)$/)) return undefined;
  // A key alone is read, whatever place it is read from.
  const place = flag(/^(?:--(?:gl|sy|fi|wo|bl)[\w-]*(?:=.*)?|-f.*)$/);
  const values = operands.length - (mode === '' ? 1 : 2);
  if (!changes && values < 2) return undefined;
  return !place && key !== undefined && !key.expands && KEPT_GIT_SETTING.test(key.text) ? undefined : shown;
}
of('hg', {
  kind: 'discards',
  grave: true,
  when: (call) =>
    sub(call, /^(?:revert|purge|strip|update)\b/) !== undefined && some(call, /^(?:-C|--clean|--all|-a|--force)$/) !== undefined,
});
of('svn', { kind: 'discards', grave: true, when: (call) => sub(call, /^(?:revert|cleanup)\b/) ?? false });

// --- Programs that publish: a published version cannot be recalled.
const PUBLISH = /^(?:npm )?(?:publish|unpublish|deprecate|dist-tag|owner|access)\b/;
of('npm pnpm yarn bun', {
  kind: 'publishes',
  grave: true,
  when: (call) => (option(call, '', '--dry-run') ? false : (sub(call, PUBLISH) ?? false)),
});
of('lerna changeset semantic-release release-it np standard-version', {
  kind: 'publishes',
  grave: true,
  when: (call) => sub(call, /^(?:publish|tag)\b/) ?? /^(?:semantic-release|release-it|np)$/.test(call.program),
});
of('cargo', { kind: 'publishes', grave: true, when: (call) => sub(call, /^(?:publish|yank|owner)\b/) ?? false });
of('twine poetry uv flit hatch pdm vsce ovsx jsr deno gem mix helm nuget dotnet pod composer conda flutter dart mvn gradle gradlew sbt', {
  kind: 'publishes',
  grave: true,
  when: (call) =>
    call.operands
      .slice(0, 3)
      .find(({ text }) => /^(?:upload|publish\w*|push|yank|unpublish|hex\.publish|deploy|:?\w*:publish\w*)$/i.test(text)) ?? false,
});
of('docker podman nerdctl buildah crane skopeo', {
  kind: 'publishes',
  grave: true,
  when: (call) => sub(call, /^(?:image |compose )?push\b/) ?? option(call, '', '--push') ?? false,
});
of('gh glab', {
  kind: 'publishes',
  grave: true,
  when: (call) =>
    sub(
      call,
      /^(?:release (?:create|upload|edit)|gist create|pr merge|mr merge|repo (?:create|edit|rename|sync)|workflow run|secret set)\b/,
    ) ?? false,
});
of(
  'terraform tofu pulumi cdk serverless sls sam kubectl helm helmfile ansible-playbook fly flyctl vercel netlify wrangler firebase surge now eb cap heroku gcloud skaffold',
  {
    kind: 'publishes',
    grave: true,
    when: (call) =>
      call.operands
        .slice(0, 3)
        .find(({ text }) =>
          /^(?:apply|deploy|publish|up|upgrade|install|promote|rollout|create|replace|patch|scale|run|release|releases)$/.test(text),
        ) ??
      (/^(?:ansible-playbook|surge|now)$/.test(call.program) || some(call, /^--prod/) !== undefined),
  },
);
of('ngrok cloudflared localtunnel lt', { kind: 'publishes', grave: true });

// --- Files and texts that leave this computer.
/** True for a place on another computer. */
export const isRemote = ({ text }: ShellWord): boolean =>
  /^(?:[\w.-]+@)?[\w.-]+:(?!\\)|^\w+:\/\//.test(text) && !/^[A-Za-z]:[\\/]/.test(text);
of('curl', {
  kind: 'sends',
  grave: true,
  when: (call) => {
    const at = call.args.findIndex(({ text }) =>
      /^(?:-[A-Za-z]*[dFT]|--data(?:-\w+)*|--form|--json|--upload-file|--url-query)$/.test(text),
    );
    const value = at < 0 ? undefined : call.args[at + 1];
    const named = at >= 0 && /url/.test(call.args[at]?.text ?? '') && /^\w*@/.test(call.args[at + 1]?.text ?? '');
    const glued = some(call, /^(?:-[dFT]|--(?:data|form|json|upload)[\w-]*=)\S*(?:@|\$)/);
    const upload = /^(?:-[A-Za-z]*T|--upload-file)$/.test(call.args[at]?.text ?? '');
    return glued ?? (value && (upload || named || value.expands || /(?:^|=)[@<]/.test(value.text)) ? value : false);
  },
});
of('invoke-webrequest iwr invoke-restmethod irm', {
  kind: 'sends',
  grave: true,
  when: (call) =>
    winSwitch(call, '-infile', '-form') ??
    // Where the words end, the shell puts in what a command prints.
    call.args.find(({ text }, at) => /^-bo(?:dy?)?$/i.test(text) && /^(?:[($@].*)?$/.test(call.args[at + 1]?.text ?? '')) ??
    false,
});
of('invoke-webrequest iwr invoke-restmethod irm', {
  kind: 'sends',
  when: (call) => winSwitch(call, '-body') ?? some(call, /^(?:post|put|patch)$/i) ?? false,
});
// To a place that the repository does not know.
of('git', { kind: 'sends', grave: true, when: gitRule(/^push$/, ({ operands }) => operands.slice(1, 2).find(isRemote)) });
of('gh glab', {
  kind: 'sends',
  when: (call) =>
    sub(call, /^api\b/) ? (some(call, /^(?:-[fF].*|--(?:raw-)?field.*|--input.*|(?:-X|--method=)?(?:POST|PUT|PATCH))$/) ?? false) : false,
});
of('wget', { kind: 'sends', grave: true, when: (call) => some(call, /^--(?:post|body)-file/) ?? false });
of('scp rsync', {
  kind: 'sends',
  grave: true,
  when: (call) => {
    const last = call.operands.at(-1);
    return last && isRemote(last) ? last : false;
  },
});
/** `nc -z` opens a connection and sends nothing. */
const asksOnly = (call: ProgramCall): boolean =>
  /^(?:nc|ncat|netcat)$/.test(call.program) && option(call, 'z') !== undefined && !call.piped;
of('nc ncat netcat socat telnet', { kind: 'sends', grave: true, when: (call) => !asksOnly(call) });
of('sftp ftp lftp', { kind: 'sends', grave: true });
of('aws gsutil rclone s3cmd azcopy mc', {
  kind: 'sends',
  grave: true,
  when: (call) => {
    const last = call.operands.at(-1);
    return last && call.operands.some(({ text }) => /^(?:cp|sync|mv|copy|move|rsync|put)$/.test(text)) && isRemote(last) ? last : false;
  },
});
of('sendmail mail mailx mutt send-mailmessage', { kind: 'sends', grave: true });

// --- Other programs that use the network; ssh runs its command elsewhere.
// In `localhost:x@host` the name is a user's.
const THIS_COMPUTER = /^(?:https?:\/\/)?(?:localhost|127\.0\.0\.1|\[?::1\]?)(?::\d*)?(?:[/?]|$)/;
/** True where every address is one of this computer. */
const asksThisComputer = ({ args }: ProgramCall): boolean => {
  const addresses = args.filter(({ text }) => /^\w+:\/\/|^[\w.-]+\.\w+(?:[:/]|$)|^(?:localhost|\[::1\])(?:[:/]|$)/.test(text));
  return (
    addresses.length > 0 &&
    args.every(
      ({ expands, text }) => !expands && !/^-\w*[KxL]|^--(?:config|proxy|location|next|preproxy|connect-to|resolve|socks)/.test(text),
    ) &&
    addresses.every(({ text }) => THIS_COMPUTER.test(text))
  );
};
// A text that is written in the command can be read there.
of('curl', {
  kind: 'sends',
  when: (call) =>
    asksThisComputer(call)
      ? false
      : (some(call, /^(?:-[A-Za-z]*[dF]|--(?:data|form|json)(?:-\w+)*(?:=.*)?|(?:-X|--request=)?(?:POST|PUT|PATCH))$/) ?? false),
});
of('curl wget', { kind: 'network', when: (call) => !asksThisComputer(call) });
of(
  `open xdg-open gio start explorer start-process saps wslview cygstart sensible-browser x-www-browser www-browser gnome-open kde-open kde-open5 exo-open firefox
  google-chrome google-chrome-stable chrome chromium chromium-browser msedge microsoft-edge brave brave-browser opera vivaldi safari`.replace(
    /\s+/g,
    ' ',
  ),
  {
    kind: 'network',
    when: (call) => call.args.find((one) => /^(?!file:)\w+:\/\//i.test(one.text) && !THIS_COMPUTER.test(one.text)) ?? false,
  },
);
of('openssl', { kind: 'network', when: (call) => sub(call, /^s_(?:client|server|time)\b/) ?? false });
of(
  `scp sftp rsync ftp telnet http https aria2c invoke-webrequest iwr invoke-restmethod irm start-bitstransfer bitsadmin certutil
  gh glab az aws gcloud kubectl helm terraform apt apt-get dnf yum pacman apk zypper brew choco winget scoop snap port rclone gsutil socat`.replace(
    /\s+/g,
    ' ',
  ),
  { kind: 'network' },
);
of('nc ncat netcat', { kind: 'network', when: (call) => !asksOnly(call) || !THIS_COMPUTER.test(call.operands[0]?.text ?? '') });
of('ping ping6 dig nslookup host whois traceroute tracepath mtr yt-dlp youtube-dl svn hg xh wget2 speedtest', { kind: 'network' });
of('lynx w3m elinks pnpx dnx httpd caddy lighttpd wscat websocat grpcurl nmap ssh-keyscan smbclient cpan cpanm', { kind: 'network' });
of('ab hey wrk', { kind: 'network', when: (call) => !asksThisComputer(call) });
// A server for others, and a program that is fetched to run it.
of('php', {
  kind: 'network',
  when: (call) => {
    const at = call.args.findIndex(({ text }) => /^-S/.test(text));
    const place = call.args[at]?.text === '-S' ? call.args[at + 1] : call.args[at];
    return at >= 0 && place && !THIS_COMPUTER.test(place.text.replace(/^-S/, '')) ? place : false;
  },
});
of('enter-pssession new-pssession test-netconnection tnc', { kind: 'network' });
of('invoke-command icm', {
  kind: 'network',
  grave: true,
  when: (call) => winSwitch(call, '-computername', '-hostname', '-session') ?? false,
});
of('uv', { kind: 'network', when: (call) => (sub(call, /^run\b/) ? (some(call, /^--with/) ?? false) : false) });
of('ruby', { kind: 'network', when: (call) => some(call, /^-run$/) ?? false });
of('go', {
  kind: 'network',
  when: (call) => (sub(call, /^run\b/) ? (call.operands.find(({ text }) => text.includes('@')) ?? false) : false),
});
of('uv dotnet', { kind: 'network', when: (call) => sub(call, /^tool (?:run|exec|upgrade|update|restore)\b/) ?? false });
of('dart flutter', { kind: 'network', when: (call) => sub(call, /^(?:pub (?:get|add|upgrade|global|outdated)|upgrade)\b/) ?? false });
of('mix', { kind: 'network', when: (call) => sub(call, /^(?:deps\.(?:get|update)|local\.\w+|archive\.install)/) ?? false });
of('rustup nvm fnm volta luarocks opam cabal stack corepack', {
  kind: 'network',
  when: (call) => sub(call, /^(?:install|update|upgrade|toolchain install|target add|component add|setup|fetch|prepare)\b/) ?? false,
});
of('composer', { kind: 'network', when: (call) => sub(call, /^(?:create-project|require|outdated|audit)\b/) ?? false });
of('conda mamba micromamba', { kind: 'network', when: (call) => sub(call, /^(?:create|update|env create)\b/) ?? false });
of('docker-compose', { kind: 'network', when: (call) => sub(call, /^(?:pull|push|run|build|up)\b/) ?? false });
of('ffmpeg ffprobe ffplay', { kind: 'network', when: (call) => some(call, /^(?!file:)\w+:\/\//i) ?? false });
of('deno', {
  kind: 'network',
  when: (call) =>
    call.operands.find(({ text }, at) => at > 0 && /^(?:https?:|npm:|jsr:)/.test(text)) ??
    sub(call, /^(?:add|install|i|upgrade|cache)\b/) ??
    false,
});
of('nix', { kind: 'network', when: (call) => sub(call, /^(?:run|shell|build|develop|profile|flake)\b/) ?? false });
of('pipx', { kind: 'network', when: (call) => sub(call, /^(?:run|upgrade\S*|inject)\b/) ?? false });
of('nix-env nix-shell guix', { kind: 'network' });
of('psql mysql mysqldump pg_dump mongo mongosh redis-cli', {
  kind: 'network',
  when: (call) => some(call, /^(?:-h|--host(?:=|$)|\w+:\/\/)/) ?? false,
});
of('mosh', { kind: 'network' }, { kind: 'network', grave: true, when: (call) => call.operands[1] ?? (call.piped || false) });
of('ssh', { kind: 'network' }, { kind: 'network', grave: true, when: (call) => sshOperands(call.args)[1] ?? (call.piped || false) });
/** Options of ssh, behind its switches, whose value opens nothing and runs nothing. */
const SSH_VALUE = /^-[46AaCfGgKkMNnqsTtVvXxYy]*[bBcJlmp]$/;
const SSH_SETTING =
  /^(?:Port|User|HostName|AddressFamily|BatchMode|Compression|ConnectTimeout|ConnectionAttempts|IdentitiesOnly|LogLevel|NumberOfPasswordPrompts|PasswordAuthentication|PreferredAuthentications|PubkeyAuthentication|RequestTTY|ServerAlive\w+|StrictHostKeyChecking|TCPKeepAlive)[= ][\w.,:+-]+$/i;
/** The operands of ssh: the computer first, then the command that runs there. A value of an option that is not known to be harmless counts as one. */
export function sshOperands(args: readonly ShellWord[]): readonly ShellWord[] {
  const operands: ShellWord[] = [];
  let hasOptions = true;
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at];
    const value = args[at + 1];
    if (!word) continue;
    if (word.text === '--') hasOptions = false;
    else if (!word.text.startsWith('-')) operands.push(word);
    else if (!hasOptions || !value || value.expands) continue;
    else if (SSH_VALUE.test(word.text) || (word.text === '-o' && SSH_SETTING.test(value.text))) at += 1;
  }
  return operands;
}
of('npm pnpm yarn bun', {
  kind: 'network',
  when: (call) =>
    (call.program === 'yarn' && call.args.length === 0) ||
    (sub(call, /^(?:i|install|add|ci|publish|dlx|create|init \w|update|upgrade|up|x|exec|login|audit|outdated|view|info)/) ?? false),
});
of('pip pip3 pipx uv poetry gem cargo go composer bundle dotnet conda mamba', {
  kind: 'network',
  when: (call) => sub(call, /^(?:tool |mod )?(?:install|add|sync|pip|get|publish|update|download|restore|fetch|search)\b/) ?? false,
});
of('python python3 py pypy', {
  kind: 'network',
  when: ({ args }) => {
    const [name, action] = args.slice(args.findIndex(({ text }) => text === '-m') + 1);
    const serves = /^(?:http\.server|SimpleHTTPServer|webbrowser|ftplib|telnetlib)$/.test(name?.text ?? '');
    return name && name !== args[0] && (serves || (name.text === 'pip' && /^(?:install|download)$/.test(action?.text ?? '')))
      ? name
      : false;
  },
});
of('docker podman', { kind: 'network', when: (call) => sub(call, /^(?:compose )?(?:pull|push|run|login|build|up)\b/) ?? false });

// --- Commands that run by themselves later: on a schedule, at the next start or login.
of('crontab', {
  kind: 'steers',
  grave: true,
  why: 'shell',
  when: (call) => (call.args.length === 1 && call.args[0]?.text === '-l' ? false : (call.args.at(-1) ?? true)),
});
of('at batch', { kind: 'steers', grave: true, why: 'shell', when: (call) => option(call, 'lq') === undefined });
of('systemctl service rc-update update-rc.d chkconfig loginctl initctl', {
  kind: 'steers',
  grave: true,
  why: 'shell',
  when: (call) =>
    call.operands.find(({ text }) =>
      /^(?:enable|disable|start|stop|restart|reload|mask|unmask|link|edit|set-property|daemon-reload|add|del|defaults|remove|enable-linger)$/.test(
        text,
      ),
    ) ?? false,
});
of('launchctl', { kind: 'steers', grave: true, why: 'shell', when: (call) => sub(call, /^(?:list|print|blame)\b/) === undefined });
of('schtasks', {
  kind: 'steers',
  grave: true,
  why: 'shell',
  when: (call) => winSwitch(call, '/create', '/change', '/delete', '/run') ?? false,
});
of('register-scheduledtask set-scheduledtask new-service set-service register-scheduledjob', { kind: 'steers', grave: true, why: 'shell' });
of('sc', {
  kind: 'steers',
  grave: true,
  why: 'shell',
  when: (call) => sub(call, /^(?:create|config|delete|start|stop|failure)\b/) ?? false,
});

// --- Settings of the computer and of accounts.
of('reg', { kind: 'settings', grave: true, when: (call) => sub(call, /^(?:add|delete|import|restore|load|unload|copy)\b/) ?? false });
of('set-itemproperty new-itemproperty sp', {
  kind: 'settings',
  grave: true,
  when: (call) => some(call, /^(?:registry::|hk\w+:)/i) ?? false,
});
of(
  'regedit regsvr32 setx bcdedit netsh set-executionpolicy set-mppreference add-mppreference enable-psremoting new-localuser add-localgroupmember dism powercfg fsutil',
  {
    kind: 'settings',
    grave: true,
  },
);
of('net', { kind: 'settings', grave: true, when: (call) => sub(call, /^(?:user|localgroup|share|stop|start|use)\b/) ?? false });
of('defaults gsettings dconf', {
  kind: 'settings',
  grave: true,
  when: (call) => sub(call, /^(?:write|delete|set|reset|load|import)\b/) ?? false,
});
of('sysctl', { kind: 'settings', grave: true, when: (call) => some(call, /^-w$|=/) ?? false });
of(
  `useradd adduser usermod userdel deluser groupadd groupmod gpasswd passwd chpasswd chsh chfn visudo vipw iptables ip6tables nft ufw firewall-cmd mount umount losetup insmod
  modprobe rmmod hostnamectl update-alternatives dpkg-reconfigure setenforce spctl csrutil nvram pmset scutil swapon swapoff setcap`.replace(
    /\s+/g,
    ' ',
  ),
  { kind: 'settings', grave: true, when: (call) => !/^u?mount$/.test(call.program) || call.args.length > 0 },
);
of('npm pnpm yarn bun', {
  kind: 'code',
  grave: true,
  when: (call) =>
    cutOption(
      {
        args: call.args.slice(
          0,
          Math.max(
            0,
            call.args.findIndex(({ text }) => text === '--'),
          ) || call.args.length,
        ),
      },
      NPM_PROGRAMS,
    ) ?? false,
});
of('npm pnpm yarn', {
  kind: 'settings',
  grave: true,
  when: (call) => sub(call, /^(?:config (?:set|delete)|set (?!version\b)[\w:.@/-]+|login|adduser|logout|token)\b/) ?? false,
});
of('ssh-add ssh-copy-id', { kind: 'settings', grave: true, when: (call) => some(call, /^-[lL]$/) === undefined });
of('npm pnpm yarn', { kind: 'steers', why: 'build', when: (call) => sub(call, /^(?:pkg (?:set|delete|fix)|set-script)\b/) ?? false });
of('pip pip3', { kind: 'settings', grave: true, when: (call) => sub(call, /^config (?:set|unset|edit)\b/) ?? false });
of('code code-insiders codium code-server cursor windsurf', {
  kind: 'settings',
  grave: true,
  when: (call) => some(call, /^--(?:(?:un)?install-extension|add-mcp)(?:=|$)/) ?? false,
});

// --- Programs and the computer are stopped.
of(
  'kill',
  { kind: 'stops' },
  { kind: 'stops', grave: true, when: (call) => call.args.find(({ text }, at) => /^(?:-1|0|1)$/.test(text) && at > 0) ?? false },
);
of('killall pkill killall5 skill xkill stop-process spps stop-computer restart-computer shutdown reboot halt poweroff logoff', {
  kind: 'stops',
  grave: true,
});
of('taskkill', { kind: 'stops' }, { kind: 'stops', grave: true, when: (call) => winSwitch(call, '/im', '/t') ?? false });
of('init telinit', { kind: 'stops', grave: true, when: (call) => some(call, /^[06s]$/i) ?? false });
of('fuser', { kind: 'stops', when: (call) => option(call, 'k', '--kill') ?? false });
of('systemctl loginctl', {
  kind: 'stops',
  grave: true,
  when: (call) => sub(call, /^(?:reboot|poweroff|halt|suspend|hibernate|kexec|kill|rescue|emergency|terminate-\w+)\b/) ?? false,
});

// --- Permissions to read, write and run files.
of('chmod', {
  kind: 'rights',
  grave: true,
  when: (call) =>
    option(call, 'R', '--recursive') ??
    some(call, /^0?[0-7]*[2367]$|^[2467][0-7]{3}$|^[ugoa]*[+=][rwxX]*s|^[oa]+[+=]\w*w|^[+=]\w*w/) ??
    false,
});
of('install mkdir', {
  kind: 'rights',
  grave: true,
  when: (call) => some(call, /^(?:-[a-zA-Z]*m|--mode=)?(?:0?[0-7]*[2367]|[2467][0-7]{3})$/) ?? false,
});
of('chown chgrp setfacl chattr icacls cacls takeown set-acl', { kind: 'rights', grave: true });

// --- Containers that reach the whole computer, and the data they keep.
of(
  'docker podman nerdctl docker-compose',
  {
    kind: 'root',
    grave: true,
    when: (call) => some(call, /^--privileged|^--(?:pid|ipc|userns|cgroupns)=host|^--cap-add|^--device|docker\.sock/) ?? false,
  },
  {
    kind: 'data',
    grave: true,
    when: (call) =>
      sub(call, /^(?:(?:system|volume|image|container|network|builder|buildx) )?(?:prune|rmi)\b|^volume (?:rm|remove)\b|^system reset\b/) ??
      (call.operands.some(({ text }) => text === 'down')
        ? (option(call, 'v', '--volumes', '--rmi') ?? false)
        : sub(call, /^(?:(?:container|compose) )?rm\b/)
          ? (option(call, 'vf', '--force', '--volumes') ?? false)
          : false),
  },
  { kind: 'data', when: (call) => sub(call, /^(?:(?:container|compose) )?rm\b/) ?? false },
);

// --- Data that no file of the workspace holds.
const SQL =
  /\b(?:drop\s+(?:table|database|schema|index|view|user|role)|truncate\s+(?:table\s+)?\w|delete\s+from|alter\s+table\s+\S+\s+drop)\b|\b(?:dropDatabase|deleteMany|drop)\s*\(/i;
of('psql mysql mariadb sqlite3 sqlcmd mongo mongosh clickhouse-client duckdb cqlsh bq wp', {
  kind: 'data',
  grave: true,
  when: (call) => some(call, SQL) ?? false,
});
of('psql mysql mariadb sqlite3', {
  kind: 'code',
  grave: true,
  when: (call) => some(call, /(?:^|\n)\s{0,9}(?:\.(?:shell|system)\b|\\!|\\?system\s)|\|\s{0,9}program\b|\bto\s+program\b/i) ?? false,
});
of('mysqladmin', { kind: 'data', grave: true, when: (call) => some(call, /^(?:drop|shutdown|flush-\w+)$/) ?? false });
of('dropdb dropuser', { kind: 'data', grave: true });
of('gh glab curl http https xh', {
  kind: 'data',
  grave: true,
  when: (call) =>
    call.args.some(({ text }) => THIS_COMPUTER.test(text))
      ? false
      : (call.args.find(({ text }, at) => /^(?:-X|--request=?|--method=?)?DELETE$/.test(text) || (text === 'DELETE' && at > 0)) ?? false),
});
of('redis-cli', { kind: 'data', grave: true, when: (call) => some(call, /^(?:flushall|flushdb|del|unlink|shutdown)$/i) ?? false });
of('rails rake bin/rails', {
  kind: 'data',
  grave: true,
  when: (call) => some(call, /^db:(?:drop|reset|purge|truncate|migrate:reset|schema:load)/) ?? false,
});
of('prisma sequelize knex typeorm drizzle-kit supabase artisan alembic flyway', {
  kind: 'data',
  grave: true,
  when: (call) =>
    some(call, /^(?:reset|db:drop|schema:drop|drop|clean|migrate:fresh|migrate:reset|db:wipe|--force-reset|--accept-data-loss)$/) ?? false,
});
// A script of a framework, by itself or behind its interpreter.
of('php artisan console sail', {
  kind: 'data',
  grave: true,
  when: (call) =>
    /^(?:artisan|console|sail)$/.test(call.program) || /(?:^|\/)(?:artisan|console|sail)$/.test(call.operands[0]?.text ?? '')
      ? (some(call, /^(?:migrate:(?:fresh|reset|refresh)|db:wipe|doctrine:(?:schema|database):drop)$/) ?? false)
      : false,
});
of('python python3 py manage.py manage django-admin', {
  kind: 'data',
  grave: true,
  when: ({ program, operands }) => {
    const at = operands.findIndex(({ text }) => /(?:^|[\\/])manage\.py$|^django$/.test(text));
    if (at < 0 && !/^(?:manage|django-admin)/.test(program)) return false;
    const command = operands[at + 1];
    return command && /^(?:flush|reset_db|reset_schema)$/.test(command.text) ? command : false;
  },
});
of('etcdctl', { kind: 'data', grave: true, when: (call) => some(call, /^(?:del|remove|delete|restore)$/) ?? false });
of('rabbitmqctl', { kind: 'data', grave: true, when: (call) => some(call, /^(?:(?:force_)?reset|(?:delete|purge)_\w+)$/) ?? false });
of('terraform tofu pulumi cdk serverless sls', {
  kind: 'data',
  grave: true,
  when: (call) => sub(call, /^(?:destroy|remove|state rm|workspace delete)\b/) ?? false,
});
of(
  'kubectl oc helm aws az gcloud gsutil gh glab heroku fly flyctl vercel netlify firebase wrangler doctl linode-cli vault consul minikube kind vagrant multipass supabase',
  {
    kind: 'data',
    grave: true,
    when: (call) =>
      call.operands
        .slice(0, 4)
        .find(({ text }) =>
          /^(?:delete|destroy|rm|rb|remove|uninstall|purge|drain|terminate-[\w-]+|delete-[\w-]+|deregister-[\w-]+|apps:destroy|pg:reset|archive)$/.test(
            text,
          ),
        ) ?? false,
  },
);

/** `print … > "file"`, the same with a variable, and `print … | "command"` of awk. */
function printsIntoProgram(script: string): boolean {
  return script.split('}').some((action) => {
    const at = action.indexOf('print');
    if (at < 0) return false;
    const printed = action.slice(at);
    // A name behind a comparison lies in parentheses: `print (a > b)`.
    return /[>|]\s*"/.test(printed) || /^print(?:[^()>]|\([^()]*\))*>+\s*[A-Za-z_(]/.test(printed);
  });
}

/** `s/…/…/e` of sed at the end of a script: the flags there hold an e, and the text before them separates some substitution. */
function endsWithExecuted(script: string): boolean {
  let from = script.length;
  while (/[gipe\d]/.test(script[from - 1] ?? '')) from -= 1;
  const lastE = script.lastIndexOf('e');
  if (lastE < from) return false;
  // A separator may itself be such a sign.
  const separators = new Set(script.slice(Math.max(0, from - 1), lastE));
  return [...script.matchAll(/(?:^|;)s(.)/g)].some(([, separator = '']) => separators.has(separator));
}

// --- Programs that start something else than they say.
of('set-alias sal new-alias nal', { kind: 'unsure', grave: true });
// The text that a key types for the user may end in a line break.
of('bind', { kind: 'unsure', grave: true, when: (call) => some(call, /:/) ?? false });
of('add-type', { kind: 'code', grave: true });
of('new-object', { kind: 'code', grave: true, when: (call) => some(call, /^-com\w*$/i) ?? false });
of('% foreach-object foreach', { kind: 'code', grave: true, when: (call) => some(call, /^(?:delete|kill|moveto|invoke\w*)$/i) ?? false });
// What opens such a file runs it.
of('open xdg-open gio start explorer invoke-item ii start-process saps wslview cygstart gnome-open kde-open', {
  kind: 'unsure',
  grave: true,
  when: (call) =>
    call.operands.find(({ text }) => /\.(?:desktop|command|terminal|app|workflow|scpt|lnk|url|hta|vbs|jar|msi)$/i.test(text)) ?? false,
});
of('mshta rundll32 wscript cscript msiexec installutil regasm forfiles wmic invoke-cimmethod invoke-wmimethod', {
  kind: 'unsure',
  grave: true,
});
of('awk gawk mawk', {
  kind: 'code',
  grave: true,
  when: (call) => call.args.find(({ text }) => /\bsystem\s*\(|\|\s*(?:getline|"|&)/.test(text) || printsIntoProgram(text)) ?? false,
});
of('sed gsed', {
  kind: 'code',
  grave: true,
  when: (call) => {
    const { runs, complete } = sedEffects(call.args);
    return runs ?? (complete ? false : (call.args.find(({ text }) => /^[\d,$]*e\s/.test(text) || endsWithExecuted(text)) ?? false));
  },
});
of('tar gtar bsdtar', {
  kind: 'code',
  grave: true,
  when: (call) =>
    cutOption(call, ['checkpoint-action', 'to-command', 'info-script', 'new-volume-script', 'rsh-command', 'rmt-command']) ?? false,
});
// The program that connects runs on this computer.
const PLAIN_SSH =
  /^(?:\/usr\/bin\/)?ssh(?:\s+-(?:[46Cqvx]+|[pl]\s*[\w.-]+|i\s*[\w./~$-]+|o\s*(?:Port|User|StrictHostKeyChecking|BatchMode|ConnectTimeout|IdentitiesOnly)[= ]\w+))*\s*$/i;
of('rsync', {
  kind: 'code',
  grave: true,
  when: (call) =>
    call.args.find(({ text }, at) => {
      const value =
        /^(?:-e|--rsh=)(.+)$/s.exec(text)?.[1] ?? (/^(?:-[a-zA-Z]*e|--rsh)$/.test(call.args[at - 1]?.text ?? '') ? text : undefined);
      return value !== undefined && !PLAIN_SSH.test(value);
    }) ?? false,
});
of('scp sftp', { kind: 'code', grave: true, when: (call) => some(call, /^-[A-Za-z\d]*S/) ?? false });
of('ssh scp sftp', {
  kind: 'code',
  grave: true,
  when: (call) => some(call, /(?:Proxy|Local|KnownHosts)Command|ProxyUseFdpass/i) ?? false,
});
of('split gsplit', { kind: 'code', grave: true, when: (call) => cutOption(call, ['filter']) ?? false });
// The expression is code of Perl.
of('rename prename file-rename perl-rename', {
  kind: 'code',
  grave: true,
  when: (call) => call.operands.slice(0, 1).find(({ text }) => codeIsGrave(text)) ?? false,
});
const PACKS = /^(?:\S{0,99}\/)?(?:p|un|lb|pl)?(?:bzip2|gzip|igz|zstd(?:mt)?|xz|lzma|lz4|lzop|lzip|brotli|compress)(?:\s+-[\w=]+)*$/;
of('tar gtar bsdtar', {
  kind: 'code',
  grave: true,
  when: (call) =>
    call.args.find(({ text }, at) => {
      const glued = /^(?:-I|--use-compress-program=)(.+)$/s.exec(text)?.[1];
      const value = glued ?? (/^(?:-[a-zA-Z]*I|--use-compress-program)$/.test(call.args[at - 1]?.text ?? '') ? text : undefined);
      return value !== undefined && !PACKS.test(value);
    }) ?? false,
});
of('sort gsort', { kind: 'code', grave: true, when: (call) => cutOption(call, ['compress-program']) ?? false });
of('rg', { kind: 'code', grave: true, when: (call) => some(call, /^--(?:pre|hostname-bin)(?:=|$)/) ?? false });
of('man', { kind: 'code', grave: true, when: (call) => option(call, 'PH', '--pager', '--html', '--preprocessor') ?? false });
// A command in place of a pattern, and a file with code that the shell loads.
of('less more most', { kind: 'code', grave: true, when: (call) => some(call, /^\+[^ ]{0,9}!/) ?? false });
of('hash', { kind: 'unsure', grave: true, when: (call) => some(call, /^-p/) ?? false });
of('enable', { kind: 'code', grave: true, when: (call) => some(call, /^-[a-z]*f/) ?? false });
of('go', { kind: 'code', grave: true, when: (call) => some(call, /^--?(?:toolexec|vettool|exec)(?:=|$)/) ?? false });
of('wget', { kind: 'code', grave: true, when: (call) => option(call, 'e', '--execute', '--use-askpass', '--config') ?? false });
of('zip', { kind: 'code', grave: true, when: (call) => some(call, /^-[A-Za-z]*TT|^--unzip-/) ?? false });
of('make gmake', {
  kind: 'code',
  grave: true,
  when: (call) => option(call, '', '--eval') ?? some(call, /^SHELL=(?!(?:(?:\/usr)?\/bin\/)?(?:ba|z|da|k)?sh$)/) ?? false,
});
of('gdb lldb', {
  kind: 'code',
  grave: true,
  when: (call) => some(call, /^\s{0,9}(?:[!|]|(?:shell|she|pipe|python|py|guile|make|script|platform shell)\b)/) ?? false,
});
of('osascript', { kind: 'code', grave: true });
of('start-process saps', { kind: 'root', grave: true, when: (call) => some(call, /^runas$/i) ?? false });
of(
  'sudo doas su pkexec runas gsudo sudo-rs dzdo pfexec kdesu gksu beesu sudoedit chroot nsenter run0 psexec psexec64 gosu su-exec runuser setpriv systemd-run unshare capsh',
  { kind: 'root', grave: true },
);
// As a member of that group: of docker that is all of the machine.
of('sg newgrp', { kind: 'root', grave: true });
of('machinectl', { kind: 'root', grave: true, when: (call) => sub(call, /^shell\b/) ?? false });
// As `npm exec -c`: a text for a shell.
of('npx', {
  kind: 'code',
  grave: true,
  when: ({ args }) => {
    const isValue = (at: number) => /^(?:-p|--package|-c|--call)$/.test(args[at - 1]?.text ?? '');
    const tool = args.findIndex(({ text }, at) => !text.startsWith('-') && !isValue(at));
    return args.slice(0, tool < 0 ? args.length : tool).find(({ text }) => /^(?:-c|--call(?:=.*)?)$/.test(text)) ?? false;
  },
});
// Scripts that run with each commit from now on, and tools that an agent has from then on.
of('husky', {
  kind: 'steers',
  grave: true,
  why: 'versionControl',
  when: (call) => sub(call, /^(?:install|add|set|init)\b/) ?? call.args.length === 0,
});
of('direnv', { kind: 'steers', grave: true, why: 'shell', when: (call) => sub(call, /^(?:allow|permit|grant)\b/) ?? false });
of('mise', { kind: 'steers', grave: true, why: 'shell', when: (call) => sub(call, /^trust\b/) ?? false });
of('gh glab', {
  kind: 'code',
  grave: true,
  when: (call) => (sub(call, /^alias (?:set|import)\b/) ? (some(call, /^!|^(?:-s|--shell)$|^alias$/) ?? false) : false),
});
of('claude codex gemini qwen', { kind: 'code', grave: true, when: (call) => some(call, /^--(?:dangerously|yolo)/) ?? false });
of('pre-commit lefthook', {
  kind: 'steers',
  grave: true,
  why: 'versionControl',
  when: (call) => sub(call, /^(?:install|init-templatedir)\b/) ?? false,
});
of('claude gemini codex qwen opencode', {
  kind: 'steers',
  grave: true,
  why: 'agent',
  when: (call) => sub(call, /^(?:mcp add|(?:extensions?|plugins?) (?:install|link|update|enable|add|marketplace)\b)/) ?? false,
});

/** Calls in an interpreter's text that do more than compute: they delete, write, start programs, use the network or hide their effect. */
const GRAVE_CODE =
  /\b(?:rmtree|unlink(?:Sync)?|rmdir(?:Sync)?|rmSync|removedirs|rm_rf|rm_r|truncate|shutil|subprocess|popen|child_process|spawn(?:Sync)?|exec(?:Sync|File|v\w*)?|fork|system|eval|compile|__import__|importlib|getattr|marshal|pickle|ctypes|b64decode|base64|atob|fromCharCode|codecs|socket|urllib|requests|httpx|https?|fetch|net|XMLHttpRequest|WebSocket|environ|kill|chmod|chown|writeFile(?:Sync)?|appendFile(?:Sync)?|createWriteStream|(?:copyFile|symlink|cp|open|write|truncate)Sync|copyFile|symlink(?:_to)?|outputFile|file_put_contents|fwrite|fputs|inplace|O_(?:WRONLY|RDWR|CREAT)|(?:Deno|Bun)\.(?:write|remove|rename|copy|spawn)\w*|write_text|write_bytes|File\.(?:write|delete|open|new)|FileUtils|IO\.(?:popen|write)|rename(?:Sync)?|os\.(?:remove|replace|putenv|execute)|NSTask|getRuntime|os:cmd|delete-(?:file|directory)|(?:rename|copy|write|append-to)-file|write-region|shell-command|call-process|(?:start|make)-process)\b|\bProcess(?:Builder)?\s{0,3}\(|\.execute\(\s{0,9}\)|`[^`]*`|%x[({[]|:!|\bqx\b|\brm\(|fs\.(?:rm|cp|promises)\b/i;

/** A call that opens a file, and a mode to write it in: looked for one by one, since all between them may hold a thousand calls. */
const OPENS = /\b(?:open|FileIO)\s*\(/i;
const WRITING_MODE = /[,=]\s*['"](?:[wax+]|[rb]{1,2}\+)/i;
/** The same in Perl: `open F, ">a"`. */
const OPENS_IN_PERL = /\bopen\b/;
const WRITING_IN_PERL = /,\s{0,9}['"]\s{0,9}\+?[>|]/;

export function codeIsGrave(code: string): boolean {
  return GRAVE_CODE.test(code) || (OPENS.test(code) && WRITING_MODE.test(code)) || (OPENS_IN_PERL.test(code) && WRITING_IN_PERL.test(code));
}
