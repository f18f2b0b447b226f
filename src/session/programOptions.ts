import { guardReason } from '../base/guardedFiles.ts';

/* The only list of options and subcommands by which a program runs something else, or reads where it does, and of programs that only read. */

const names = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean));

/** The long name of an option in small letters with dashes between its words, also of `-name` and `--aName`; '' for letters alone. */
export function optionName(text: string): string {
  const name = /^(?:--+|-(?=[A-Za-z][\w-]{2,}))([A-Za-z][\w.-]*)/.exec(text)?.[1] ?? '';
  return name
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}

/** Options with which this program runs something else, or reads settings that say so. */
export interface RunningOptions {
  readonly long: readonly string[];
  readonly short: string;
  /** Options whose value matters only where it is a file that was not looked at. */
  readonly loads: readonly string[];
  readonly loadsShort: string;
  /** Long names may be cut. */
  readonly cuts: boolean;
  /** Whole words. */
  readonly pattern?: RegExp;
}
const table = new Map<string, RunningOptions>();
export const RUNNING_OPTIONS: ReadonlyMap<string, RunningOptions> = table;
/** Long names, then letters; behind a question mark those that only load a file. */
function of(programs: string, long: string, short = '', pattern?: RegExp, cuts = true): void {
  const [runs = '', loads = ''] = long.split('?');
  const [letters = '', loadsShort = ''] = short.split('?');
  const list = (text: string) => text.split(/\s+/).filter(Boolean);
  const options = { long: list(runs), short: letters, loads: list(loads), loadsShort, cuts, ...(pattern ? { pattern } : {}) };
  for (const program of list(programs)) table.set(program, options);
}
const whole = (programs: string, long: string, short = '', pattern?: RegExp) => of(programs, long, short, pattern, false);

/** Options of Git that name a program, a template of hooks or another repository. */
export const GIT_PROGRAMS = 'open-files-in-pager upload-pack receive-pack exec exec-path extcmd config-env'.split(' ');
/** Options of npm and its like that name a program or other settings. */
export const NPM_PROGRAMS =
  'script-shell shell node-options git editor viewer browser userconfig globalconfig onload-script init-module init.module python node-gyp call'.split(
    ' ',
  );
of('git', `${GIT_PROGRAMS.join(' ')} template`, '', /(?:^|=)(?:ext|fd)::/);
of(
  'npm pnpm yarn bun',
  `${NPM_PROGRAMS.join(' ')} prefix dir cwd global-dir use-node-version ignore-pnpmfile pnpmfile global-pnpmfile`,
  'C',
);
of('sort gsort', 'compress-program');
// The letters of an old option of tar have no dash.
of(
  'tar gtar bsdtar',
  'use-compress-program checkpoint-action to-command info-script new-volume-script rsh-command rmt-command',
  'IF',
  /^[a-zA-Z]*[IF][a-zA-Z]*$/,
);
of('sed gsed', '');
of('split gsplit', 'filter');
whole('rg ripgrep', 'pre pre-glob hostname-bin');
of('ag ack bat batcat delta', 'pager ackrc output');
whole('fd fdfind', 'exec exec-batch', 'xX');
whole('find gfind bfs', '', '', /^-(?:exec|ok)(?:dir)?$|^-fprint|^-fls$|^-files0-from$/);
of('man', 'pager html preprocessor config-file', 'PHpCX');
of('less more most', 'lesskey-file lesskey-src lesskey-content log-file', 'koO', /^\+/);
of(
  'vi vim nvim view gvim ex vimdiff rvim emacs emacsclient ed nano pico micro hx kak',
  'cmd eval execute load script funcall batch',
  'cSsuilqe',
  /^\+/,
);
whole('ssh scp sftp mosh autossh', 'ssh server', 'oFSDPeE');
of('rsync', 'rsh rsync-path server', 'eM');
of('zip', 'unzip-command', '', /^-[A-Za-z]*TT/);
of('wget', 'use-askpass execute config', 'e');
of('curl', 'config engine', 'K');
of('awk gawk mawk nawk', 'file exec load include extension dump-variables profile pretty-print debug', 'fEliopdDW', /@/);
whole('go', '', '', /^--?(?:toolexec|vettool|exec|overlay|modfile|extld|gccgoflags|ldflags|pkgdir|compiler)(?:=|$)/);
whole('cargo', 'config', 'Z', /^-C?linker=/);
whole('rustc rustdoc', 'codegen sysroot extern', 'CZ');
of(
  'make gmake bmake nmake',
  'eval include-dir ? file makefile',
  'IE?f',
  /^(?:\.?SHELL\w*|MAKE\w*|[\w.]*(?:CC|CXX|CPP|LD|AR|AS|FC|FLAGS|CMD|COMMAND|PROG|PROGRAM|TOOL|EXEC|PYTHON|NODE|NPM|GO|CARGO|RUN|RUNNER|COMPILER|PREFIX|INTERPRETER|WRAPPER|LAUNCHER))[:?+!]*=|^[\w.]+[:?+!]*=(?![\w.,:@%+/-]*$)|^[\w.]+[:?+!]*=[./-]|^[\w.]+!=/,
);
whole('ninja samu', '? file', '?f');
whole('cmake ctest cpack', 'toolchain script build-and-test', 'PCDSE', /^-D/);
of('meson', 'native-file cross-file');
of('just task rake invoke fab', 'shell require libdir eval ? justfile taskfile rakefile', 'rRIe?fdt');
of(
  'gradle gradlew mvn mvnw',
  'init-script include-build gradle-user-home settings global-settings ? build-file settings-file file',
  'IgDPs?bcpf',
);
of(
  'bazel bazelisk buck buck2',
  'run-under workspace-status-command bazelrc override-repository shell-executable host-jvm-args script-path',
);
whole('dotnet msbuild', 'logger', '', /^[-/](?:l|logger|p|property|t|bl|dl):|^@/);
whole(
  'java javac javaw kotlinc scala scalac',
  'processor processor-path module-path class-path',
  '',
  /^-(?:javaagent|agentlib|agentpath|J|X|cp|classpath|Xplugin|processor|jar)|^@/,
);
whole(
  'gcc g++ cc c++ clang clang++ gfortran ld ar',
  'plugin dynamic-linker load',
  'B',
  /^-f(?:pass-)?plugin|^-wrapper|^-specs|^@|^-fuse-ld|^-load$|^-X/,
);
whole('python python3 pythonw pypy pypy3 py pyw', '', 'cmiWX');
whole(
  'node nodejs bun',
  `eval print require import loader experimental-loader env-file run test-reporter snapshot-blob build-snapshot openssl-config
  experimental-config-file experimental-default-config-file inspect-brk inspect`,
  'eprC',
);
whole('deno', 'import-map preload require ? config', 'rA?c');
whole('tsx ts-node', 'eval print require import loader script-mode ? project tsconfig', 'epr?P');
whole('perl', '', 'eEMmIxipnd');
whole('ruby', 'require', 'eErIxipnC');
whole('php', 'define run process-code php-ini', 'drBREcz');
whole('lua luajit', '', 'eli');
of('pytest py.test pytest-3', 'confcutdir rootdir override-ini pdbcls basetemp plugins ? config-file', 'poW?c');
of(
  'mypy pyright pylint flake8 black isort ruff',
  'python-executable load-plugins init-hook append-config plugins python-path venv-path ? config rcfile config-file',
);
of('tox nox hatch poetry pdm uv pipenv coverage', 'root root-dir python ? noxfile rcfile directory project config-file conf', '?fcCP');
of(
  'pip pip3 pipx',
  'target prefix root python config-settings src log index-url extra-index-url find-links global-option build-option editable ? requirement constraint',
  'ti?ercf',
);
of(
  'eslint stylelint prettier standard xo oxlint biome',
  'rulesdir resolve-plugins-relative-to plugin-search-dir ? config plugin parser format custom-formatter custom-syntax config-path config-basedir',
  '?cf',
);
of(
  'mocha jest vitest ava tap karma playwright web-test-runner wtr jasmine',
  `node-option node-arg before after ? require file reporter ui loader import config global-setup global-teardown setup-files setup-files-after-env runner test-environment
  transform resolver reporters test-runner preset root-dir root watch-plugins nycrc-path cwd dir environment project helper extension`,
  '?rcn',
);
whole(
  'rscript guile clojure clj bb matlab octave sbcl clisp iex elixir erl julia janet fennel groovy kotlin swift dart',
  'eval run load expr',
  'eErcxlf',
);
of(
  'webpack vite rollup esbuild parcel tsup swc babel tsc',
  '? config require plugin plugins presets inject config-file loader',
  '?c',
  /^@/,
);
whole(
  'docker docker-compose podman nerdctl',
  'host context config mount volume volumes-from entrypoint build-context ? file env-file project-directory',
  'Hv?f',
);
whole('kubectl oc helm kustomize', 'post-renderer enable-exec enable-alpha-plugins load-restrictor kubeconfig');
whole('terraform tofu', 'chdir plugin-dir', '', /^-(?:chdir|plugin-dir|backend-config)/);
of('ansible ansible-playbook', 'args module-path extra-vars ssh-common-args ssh-executable ? inventory', 'aMe?i');
whole('gdb lldb', 'ex eval-command command init-command source one-line batch', 'xoskS', /^-(?:ex|iex|x|ix)$/);
whole('strace ltrace', 'output', 'o');
whole('tcpdump', '', 'zw');
whole('tshark wireshark', '', 'X');
whole('nmap', 'script', 'o');
of('pandoc', 'filter lua-filter pdf-engine template defaults extract-media', 'FLdo');
whole('pdflatex latex xelatex lualatex latexmk tex', '', 'erP', /^--?(?:shell-escape|enable-write18|output-|pdflatex|latex|e$)/);
// Commands of these shells may be cut: `.sh` runs a program. Those that only show something are left out.
whole(
  'sqlite3 duckdb',
  '',
  '',
  /^-{1,2}(?:cmd|init|f|file)$|(?:^|[\s;])\.(?!(?:tables?|schema|mode|headers?|databases|dump|fullschema|ind(?:ex|ic)es|stats|show|help|quit|exit|width|timeout|timer|echo|bail|nullvalue|separator|eqp|explain|changes|version)(?![a-z]))[a-z]/i,
);
whole('dc', 'expression file', 'ef');
whole('jobs', '', 'x');
whole('enable', '', 'f');
whole('r', 'eval file encoding', 'ef');
whole('asciinema', 'command', 'c');
of('hg chg svn', 'config config-dir config-file config-option diff-cmd diff3-cmd merge-cmd editor-cmd');
of('cppcheck', '? addon addon-python rule-file library platform');
of('phpcs phpcbf', 'bootstrap runtime-set ? standard', '?s');
whole('keytool jarsigner', '', '', /^-(?:provider|J)/i);
whole('flyway liquibase', '', '', /^-{1,2}(?:config|jar|class-?path|driver|defaults)/i);
of('gunicorn hypercorn alembic celery flask django-admin', 'pythonpath ? config app settings', '?cA');
of('knex sequelize typeorm plop jscodeshift', 'require ? knexfile options-path config data-source plopfile transform', 'r?dt');
of('act', 'platform bind container-options ? workflows eventpath env-file secret-file', 'Pb?WeC');
of('cypress', 'project ? config config-file reporter', 'P?cCr');
of('protoc', 'plugin', '', /^@/);
of('asciidoctor asciidoctor-pdf asciidoctor-epub3', 'require load-path template-dir template-engine', 'rITE');
of('remark rehype retext', 'use setting ? rc-path', 'us?r');
of('postcss', 'use parser stringifier syntax ? config', 'u');
of('markdownlint markdownlint-cli markdownlint-cli2', 'rules ? config', 'r?c');
of('commitlint', 'extends parser-preset ? config cwd', 'xpg?d');
of('golangci-lint', '? config', '?c');
of('typedoc', 'plugin theme ? options tsconfig');
of('jsdoc', '? configure template', '?ct');
of('knip depcruise dependency-cruiser', 'preprocessor reporter ? config tsconfig', '?ct');
of('buf hugo tailwindcss', '? config');
of('mkdocs', '? config-file', '?f');
of('scons', 'site-dir include-dir ? file sconstruct makefile', 'I?f');
of('gulp', 'require preload ? gulpfile', '?f');
of('grunt', 'base tasks npm ? gruntfile');
whole('ant', '? file buildfile find', '?f', /^-(?:lib|listener|logger|inputhandler|main|propertyfile|D)/);
whole('ghc ghci runghc runhaskell', 'eval run load expr', 'eErcxlfF', /^-(?:pgm|opt|fplugin|package-db|B)|^@/);
whole('cabal', 'project-file builddir', 'w', /^--(?:with-|ghc-option|config-file)/);
whole('stack', '', '', /^--(?:stack-yaml|with-|ghc-options|docker-|setup-info-yaml)/);
whole('tectonic', 'bundle web-bundle', 'Zbw');
whole('zig', 'build-runner zig-lib-dir ? build-file');
of('psql', 'file set command', 'fcov', /\\(?:!|copy|o\b|g\b|i\b|w\b)/);
of('mysql mariadb', 'execute init-command pager defaults-file defaults-extra-file plugin-dir', 'e', /\\!|\bsystem\s/i);
of('gpg gpg2', 'photo-viewer agent-program exec-path pinentry-program dirmngr-program output homedir options', 'o');
whole('openssl', '', '', /^-(?:engine|provider|provider-path|config|out)$/);
whole('apt apt-get', 'option config-file', 'oc');
whole('dpkg', 'install unpack root admindir', 'i');
whole('rpm', 'install upgrade freshen reinstall import eval load define pipe root', '', /^-(?![a-zA-Z]*[qV])[a-zA-Z]*[iUFED]/);
whole('pacman', 'sync upgrade config hookdir root', '', /^-[a-zA-Z]*[SU]/);
whole('installer', '', '', /^-pkg$/);
whole('fzf sk', 'preview bind execute with-shell become');
whole('exiftool', '', '', /^-(?:config|if|p|execute|W|w)/i);
of('rspec rubocop', 'require init out ? options default-path config plugin format', 'rIo?Ocf');
of('phpunit composer', 'include-path ? bootstrap configuration working-dir', '?cd');
of('sphinx-build', 'conf-dir define', 'cD');
whole('gs ghostscript', '', '', /^-s(?:OutputFile|DEVICE)/);
whole('xdg-open open start', '', '', /./);

/** Names of options by which programs of any kind run something else. */
export const RUNS_OPTION =
  /(?:^|-)(?:exec|execute|execdir|executable|executor|command|cmd|program|pager|editor|viewer|browser-path|shell|hook|hooks|rsh|wrapper|launcher|toolexec|vettool|helper|askpass|interpreter|eval|evaluate|preprocessor|run-under|proxy-command|on-(?:success|failure|change|exit|complete|error))(?:$|-(?!dir))/;
/** Names of options that load what their value names, where it is a path. */
export const LOADS_OPTION =
  /(?:^|-)(?:require|import|loader|plugin|plugins|preload|config|configuration|configfile|config-file|rcfile|rc-file|settings|settings-file|init|init-script|init-file|setup|setup-file|setup-files|setup-files-after-env|setupfiles|global-setup|global-teardown|reporter|reporters|formatter|parser|resolver|transform|transformer|processor|rulesdir|rules-dir|preset|environment|runner|test-runner|test-environment|ui|bootstrap|script|lua-filter|engine|agent|module|library|load|makefile|toolchain|env-file|overlay|modfile|kubeconfig|bazelrc|manifest-path|build-file|project)(?:$|=)/;
/** Names of options that hold a file, also where it has no ending, for programs that list them among those that load one. */
export const FILE_OPTION =
  /^(?:config|config-file|config-path|configuration|configure|options|bootstrap|build-file|rcfile|rc-path|nycrc-path|\w+file|tsconfig|workflows)$/;
/** Names of options with the folder in which a program of tasks finds what it runs. */
export const FOLDER_OPTION =
  /^(?:prefix|cwd|dir|directory|chdir|root|root-dir|rootdir|project-dir|project-directory|projectdir|work-dir|workdir|working-directory|working-dir|git-dir|work-tree|manifest-path|basedir|base-dir|source-dir|srcdir|package-path)$/;
/** Programs that run what they find in a folder. */
export const TASK_RUNNERS = names(
  `git npm pnpm yarn bun deno make gmake just task rake cargo go gradle gradlew mvn mvnw bundle poetry uv pdm pipenv hatch tox nox pytest jest vitest mocha
  ava tap eslint prettier stylelint dotnet cmake ctest ninja meson bazel composer terraform tofu docker docker-compose podman turbo nx lerna rush gulp grunt
  vite webpack rollup parcel tsc mix rebar3 sbt lein stack cabal dune swift flutter dart ant invoke fab doit scons waf`,
);

/**
 * True for a value that names no file the user should see first. A guarded file was shown when it was changed. `isAnyFile`: the value is a
 * file, whatever it looks like.
 */
export function isPlainConfig(value: string, isAnyFile: boolean): boolean {
  if (value === '' || value.startsWith('-')) return true;
  return !(isAnyFile || PATH_OR_SETTING.test(value)) || guardedInside(value);
}
const PATH_OR_SETTING =
  /[\\/=]|^\.|\.(?:[cm]?[jt]sx?|py|rb|sh|so|dll|dylib|lua|pl|php|jar|toml|ya?ml|json[5c]?|cfg|ini|conf|rc|xml|gradle|kts?|mk|cmake|wasm|node)$/i;
function guardedInside(path: string): boolean {
  const reason = guardReason(path);
  return reason !== undefined && reason !== 'name' && !/^[\\/~]|(?:^|[\\/])\.\.(?:[\\/]|$)|^[A-Za-z]:/.test(path);
}

const of2 = (programs: string, words: RegExp) => ({ programs: names(programs), words });
/** Subcommands that run what a package, a script or a person's settings name: a rule has to name them. */
export const RUNNING_SUBCOMMANDS: readonly { readonly programs: ReadonlySet<string>; readonly words: RegExp }[] = [
  of2(
    'npm pnpm yarn bun',
    /^(?:exec|x|dlx|explore|create|init|innit|edit|link|ln|rebuild|rb|install-test|it|cit|config|c|get|set|install-ci-test|import|plugin|policies|patch|patch-commit|deploy|env|setup|npm|node|dedupe|update|up|upgrade|upgrade-interactive|uninstall|remove|rm|un|unlink|prune|shrinkwrap|store|self-update)(?= )/,
  ),
  of2('cargo', /^(?:install|run|r|add|remove|rm|new|init|generate|script|update|fix|expand|watch|make|xtask)(?= )/),
  of2('go', /^(?:run|generate|tool|install|get|env|work|mod (?:edit|tidy|vendor|init|download)|mod)(?= |$)/),
  of2(
    'git',
    /^(?:difftool|mergetool|submodule|bisect|citool|gui|instaweb|p4|svn|cvsimport|cvsserver|shell|for-each-repo|remote-\S+|filter-branch|subtree|lfs|credential\S*|maintenance|daemon|upload-pack|receive-pack|http-backend|archive|bundle|checkout-index|read-tree|merge-file|merge-index|merge-one-file|mergetool--lib|unpack-file|mailsplit|mailinfo|fast-import|format-patch|interpret-trailers|worktree|clone|init|sparse-checkout|replace|remote add|remote set-url)(?= |$)/,
  ),
  of2(
    'docker podman nerdctl docker-compose',
    /^(?:run|exec|compose (?:run|exec)|buildx|plugin|context|container (?:run|exec)|cp|import|load)(?= |$)/,
  ),
  of2('kubectl oc', /^(?:exec|run|debug|attach|cp|edit|plugin|config|krew|proxy|port-forward)(?= |$)/),
  of2('gh glab', /^(?:alias|extension|ext|config|codespace|cs|auth|api|repo clone|pr checkout|run download|release download|co)(?= |$)/),
  of2('dotnet', /^(?:run|exec|tool|script|new|add|remove|workload|nuget|fsi|watch|format|store)(?= |$)/),
  of2('pip pip3 pipx', /^(?:install|run|runpip|wheel|download|config|inject)(?= |$)/),
  of2('gem bundle composer', /^(?:install|exec|run-script|run|global|require|update|config|open|add|init|gem|create-project|plugin)(?= )/),
  of2('deno', /^(?:run|eval|install|task|serve|x|compile|repl|add|init|jupyter)(?= |$)/),
  of2(
    'uv poetry pdm hatch pipenv rye conda mamba pixi',
    /^(?:run|tool|add|remove|install|init|new|sync|shell|self|python|pip|config|build|env|build-remote)(?= |$)/,
  ),
  of2('code codium cursor', /./),
  of2('rails rake spring', /^(?:runner|r|console|c|dbconsole|generate|g|new|plugin|server|s)(?= |$)/),
  of2(
    `nix nix-env nix-build doxygen run-parts cookiecutter copier yo ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-linux-armhf.so.3
    ld-musl-x86_64.so.1 ld-musl-aarch64.so.1`,
    /./,
  ),
  of2('r', /^cmd .+/),
  of2('pre-commit', /^try-repo .+/),
  of2('openssl', /^engine .+/),
  of2(
    'brew apt apt-get dnf yum apk pacman zypper snap flatpak choco winget scoop',
    /^(?:install|reinstall|tap|edit|sh|ruby|run|upgrade|services|create|add|-S\S*|in|localinstall)(?= |$)/i,
  ),
];

/** Subcommands that change guarded files without naming them. */
export const CHANGING_SUBCOMMANDS: readonly { readonly programs: ReadonlySet<string>; readonly words: RegExp }[] = [
  of2(
    'npm pnpm yarn bun',
    /^(?:pkg (?:set|delete|fix)|set-script |version .|(?:init|innit|create)\b|audit fix|config (?:set|delete|edit|fix)|c set|set \S|plugin |policies |patch-commit |approve-builds|setup\b|env )/,
  ),
  of2('go', /^(?:mod (?:edit|init)|env -?|work )/),
  of2('cargo', /^(?:init|new) /),
  of2(
    'git',
    /^(?:submodule (?:add|set-url|set-branch|deinit|sync|init|absorbgitdirs)|lfs (?:install|track|untrack|migrate)|maintenance (?:start|stop|register|unregister)|credential|hook |worktree (?:add|move|repair)|checkout-index |init \S)/,
  ),
  of2('poetry pdm uv hatch', /^(?:config|init|new|version) /),
  of2('pip pip3', /^config (?:set|unset|edit)/),
  of2('composer', /^(?:config|init)/),
  of2('husky lefthook lint-staged pre-commit', /^(?:install|add|set|init|uninstall|migrate|autoupdate)/),
  of2('direnv mise asdf', /^(?:allow|permit|grant|edit|use|trust|set|local|global|settings|unset|plugin)/),
  of2('code codium cursor', /./),
];

/** Commands of Git that change no file their arguments name. */
export const READING_GIT =
  /^(?:add|stage|diff|log|show|blame|annotate|status|ls-files|ls-tree|ls-remote|grep|commit|check-ignore|check-attr|cat-file|rev-list|rev-parse|shortlog|whatchanged|branch|tag|describe|diff-tree|diff-index|diff-files|name-rev|merge-base|reflog|remote|fetch|push|count-objects|fsck|var|version|help|range-diff|cherry|show-ref|show-branch|for-each-ref|symbolic-ref|notes|config)$/;

/** Programs that change none of the files they are given; `checks`: unless an option makes them. */
export const READERS: ReadonlyMap<string, 'reads' | 'checks'> = new Map([
  ...[
    ...names(
      `cat bat batcat tac head tail less more most nl wc ls dir exa eza lsd tree file stat du df grep egrep fgrep zgrep zcat rg ripgrep ag ack find fd fdfind diff
      cmp comm cut sort fold rev column paste join tr echo printf test [ [[ basename dirname realpath readlink which where whereis type md5sum sha1sum sha256sum
      sha512sum shasum cksum b2sum od hexdump strings jq gron cd pushd popd pwd true false seq date nproc uname whoami id env printenv man tldr help cloc tokei scc
      get-content gc get-childitem gci select-string sls test-path resolve-path get-item measure-object get-filehash findstr more.com fc.exe
      tsc pytest mypy pyright flake8 pylint jest vitest mocha ava tap playwright cypress hadolint shellcheck yamllint jsonlint
      for case select export set unset local declare typeset alias readonly`,
    ),
  ].map((name): [string, 'reads'] => [name, 'reads']),
  ...[...names('sed gsed awk gawk mawk yq eslint prettier stylelint biome oxlint standard xo rubocop gofmt clang-format shfmt sort')].map(
    (name): [string, 'checks'] => [name, 'checks'],
  ),
]);

/** Options whose value, in the same word or the next, is written. */
export const WRITES_OPTION =
  /^-[a-zA-Z]*[oO](?:$|[=:.\w/])|^--ou?(?:$|=)|^--?(?:out|pretty|debug|html|json-report|lcov|heap-prof|cache-d|xml|dest|target-d|dump|log-file|logfile|report|save|export|cookie-jar|trace|fprint|fls|junit|cov-report|profile|prof|cpu-prof|metafile|manifest(?!-path)|build-?info|tsbuildinfo|coverage-dir|cache-loc|basetemp|iidfile|cidfile|stderr|etag-save|libcurl|hsts|declaration-dir|directory-prefix|prefix)/i;
/** Options whose value is read. */
export const READING_OPTION =
  /^(?:--?(?:project|tsconfig|config|config-file|configuration|manifest-path|env-file|rcfile|include|exclude|exclude-dir|ignore|ignore-path|ignore-dir|glob|iglob|path|name|pathspec|filter|files-from|compose-file|build|settings|build-file)(?:$|=))/;
/** The same for programs that build and check. */
export const SHORT_READING_OPTION = /^-[pcf]$/;

/** Programs that take their arguments as data, or a script of the workspace: none runs them as a command unless an option makes it. */
const TAKES_WORDS = names(
  `git npm pnpm yarn bun npx tsc node nodejs deno tsx ts-node python python3 pypy py ruby perl php lua java javac kotlinc scala go cargo rustc rustup gcc g++ cc c++
  clang clang++ ld ar make gmake ninja cmake meson just task rake gradle gradlew mvn mvnw ant dotnet msbuild pip pip3 pipx uv poetry pdm gem bundle composer
  eslint prettier stylelint biome oxlint ruff black isort mypy pylint flake8 pytest jest vitest mocha rspec rubocop phpunit webpack vite rollup esbuild
  docker docker-compose podman kubectl helm terraform tofu gh glab aws az gcloud curl wget ssh scp rsync tar gtar bsdtar zip unzip gzip gunzip xz bzip2 zstd 7z
  psql mysql sqlite3 redis-cli openssl gpg rm rmdir mv cp ln mkdir touch tee chmod chown install dd truncate rename patch sed gsed awk gawk mawk yq
  del erase md mkdir rd ren copy move type where set-content add-content new-item remove-item copy-item move-item rename-item out-file tee-object sc ni ri mi cpi
  write-host write-output set-location cls clear sleep exit return kill pkill killall shutdown
  vi vim nvim code emacs nano open xdg-open brew apt apt-get dnf yum apk pacman snap choco winget scoop systemctl service crontab mount umount
  let read shift break continue wait jobs ulimit umask hash dirs ps top htop free uptime hostname df lsof netstat ss ping dig nslookup ip ifconfig
  pandoc ffmpeg convert magick dotenv supabase prisma next nuxt astro ng vue expo flutter dart swift xcodebuild adb gofmt rustfmt clang-format`,
);
export function takesWords(program: string): boolean {
  return READERS.has(program) || TAKES_WORDS.has(program) || /^(?:python|pypy|ruby|perl|php|lua)[\d.]*$/.test(program);
}
