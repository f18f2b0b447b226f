import { foldName, isDeceptiveName } from './fileName.ts';
import { globMatcher, globsMeet, type ReadGlob, readGlob } from './glob.ts';

/** The consumer that uses a file unasked, so that its changes are always shown. `name`: a deceptive name; `user`: listed by the user. */
export type GuardReason = 'versionControl' | 'editor' | 'agent' | 'shell' | 'automation' | 'build' | 'name' | 'user';

/**
 * The only list of files that run something, or instruct an agent, without anybody starting them: names of files and folders at any depth of a
 * workspace, with `*` for any run of characters. No rule with a wildcard and no "always" covers a change of them. SECURITY.md explains the groups.
 */
const LIST: Readonly<Record<Exclude<GuardReason, 'name' | 'user'>, string>> = {
  // Version control runs hooks, filters and helpers named in these on the next status, commit or checkout.
  versionControl: `.git .hg .svn .jj .bzr .gitmodules .gitattributes .gitconfig .gitignore_global .hgrc .husky .githooks .hooks
    .pre-commit-config.yaml .pre-commit-hooks.yaml lefthook.* .lefthook.* lefthook-local.* .lintstagedrc* lint-staged.config.* .commitlintrc*
    .simple-git-hooks.* simple-git-hooks.* .overcommit.yml .czrc .gitlint .arcconfig .arclint .hgsub .pijul .fossil-settings _darcs .sl
    .gitconfig.* pre-commit prepare-commit-msg commit-msg pre-merge-commit pre-push pre-rebase post-commit post-checkout post-merge post-rewrite
    applypatch-msg pre-applypatch post-applypatch reference-transaction post-index-change fsmonitor-watchman`,
  // Editors start tasks, servers and tools named in these when the folder is opened or a file is saved.
  editor: `.vscode .vscode-test* .vscode-server *.code-workspace *.code-profile .devcontainer .devcontainer.json .idea .run .vs .fleet .zed .nova
    .helix .nvim.lua .nvimrc .exrc .vimrc .gvimrc _vimrc .vim .vimspector.json .dir-locals.el .dir-locals-2.el .emacs .emacs.d .sublime
    *.sublime-project *.sublime-workspace .theia .lapce .ycm_extra_conf.py .gitpod.yml .gitpod.dockerfile .ensime .metals .clangd .ccls .lsp.json
    pyrightconfig.json tsconfig*.json jsconfig*.json .idx .codesandbox devfile.y*ml .devfile.y*ml .bsp .project .classpath .factorypath .settings
    .lvimrc .lazy.lua .tm_properties *.sublime-build hie.yaml rust-analyzer.toml .rust-analyzer.toml .markdownlint* .textlintrc* tslint.json
    cspell.* .cspell* .solargraph.yml wallaby.* .vscode-insiders .vscode-oss .vscodium .nvim .projectile .merlin compile_commands.json compile_flags.txt
    .graphqlrc.* .spectral.js .vimrc.* .phan coc-settings.json .trunk .hhconfig .flowconfig .spacemacs .doom.d init.vim`,
  // Agents start servers and hooks named in these, or follow them as instructions in a later conversation.
  agent: `.mcp.json mcp.json .mcp .claude .claude.json .claude-plugin .claude.local.md .cursor .cursorrules .gemini .qwen .kimi .codex
    .opencode opencode.json opencode.jsonc .amazonq .windsurf .windsurfrules .continue .continuerc.json .aider* .roo .roomodes .roorules
    .clinerules .cline .kilocode .kilocodemodes .goose .goosehints .agents .agent .parley .augment .augment-guidelines .junie .kiro .copilot
    crush.json .crush.json .crush .factory .trae .crewai .openhands .openhands_instructions .rules .rulesync .cody .tabnine .codeium .pearai     .warp warp.md .devin .jules .forge forge.yaml .plandex .replit replit.nix .replit.md .stackblitzrc
    agents.md agents.override.md agent.md claude.md claude.local.md gemini.md qwen.md kimi.md skill.md .skills copilot-instructions.md
    *.instructions.md *.prompt.md *.chatmode.md *.agent.md .amp amp.md .zencoder .qodo .qoder qoder.md .iflow iflow.md crush.md .kilo kilo.json* conventions.md .goosehints.* .openclaw .hermes .swe-agent .sweagent.y*ml .mentat .plandex-* .codegpt .bito .void .blackbox .sourcery.yaml .coderabbit.y*ml .pr_agent.toml
    .ellipsis* ellipsis.yaml .greptile greptile.json .bugbot .bugbot.md .gptme gptme.toml .open-interpreter .sgpt .llm .aichat .mods .fabric .codebuddy codebuddy.md
    .antigravity .lingma .comate .marscode .letta .droid .vibe .grok grok.md .pi .aiassistant gemini-extension.json hooks.json`,
  // Shells, terminals and the tools of the command line read these when they start or enter the folder.
  shell: `.envrc .env .env.* *.env .env-* .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bash_completion .profile .zshrc .zshenv
    .zprofile .zlogin .zlogout .zimrc .kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc .xprofile .xinitrc .xsession .xsessionrc .xsessionrc
    .pam_environment config.fish .config .local .ssh .gnupg .aws .azure .kube .docker .dockercfg .gcloud .netrc _netrc .wgetrc .curlrc _curlrc .screenrc
    .tmux.conf .psqlrc .sqliterc .my.cnf .mylogin.cnf .gdbinit .lldbinit .irbrc .pryrc .pythonrc .pythonstartup .pdbrc .rprofile .renviron .rprofile.site
    .octaverc .ghci .guile .erlang .iex.exs .jupyter .ipython .mise.toml mise.toml .mise mise.*.toml .mise.*.toml .tool-versions .asdfrc .autoenv
    .autoenv.zsh .rvmrc .ruby-version .nvmrc .sdkmanrc .direnv .direnvrc *_profile.ps1 profile.ps1 *.psd1 autorun.inf desktop.ini *.desktop *.lnk *.url
    *.scf *.library-ms *.searchconnector-ms *.command *.terminal .hushlogin .forward .procmailrc .crontab crontab .lessfilter .nanorc .ackrc
    .ripgreprc authorized_keys .envrc.* .python-version .node-version .rdata startup.m .gnuplot .ocamlinit .byebugrc .rdbgrc .pdbrc.py .mongorc.js
    .xonshrc .juliarc.jl startup.jl ipython_config.py .cgdbrc .wezterm.lua .mailcap .p10k.zsh .fzf.bash .fzf.zsh .bashrc.d .bashrc.* .zshrc.* .profile.d
    .bash.d .prototools .pkgx.y*ml .hermit .oh-my-zsh .psysh.php .octorc jupyter_*_config.py *-gdb.py`,
  // Servers and services run these on the next push, on a schedule or when a package is deployed.
  automation: `.github action.y*ml .gitlab .gitlab-ci.yml .gitlab-ci .circleci .travis.yml azure-pipelines* .azure-pipelines .azuredevops jenkinsfile* .jenkins
    bitbucket-pipelines.yml .drone.* .woodpecker* .buildkite .teamcity .forgejo .gitea appveyor.yml .appveyor.yml cloudbuild.* .cirrus.* .semaphore
    .tekton .concourse .wercker.yml wercker.yml .shippable.yml .codeship* buildspec.y*ml .harness .screwdriver.* screwdriver.yaml .earthly
    renovate.json* .renovaterc* renovate.config.* .dependabot dependabot.yml .mergify.yml .kodiak.toml .prow.yaml .sourcegraph codemagic.yaml
    bitrise.yml .bitrise.yml .readthedocs.y*ml readthedocs.yml netlify.toml vercel.json .vercel firebase.json fly.toml railway.*
    .platform .platform.app.yaml .ebextensions .elasticbeanstalk procfile* heroku.yml .releaserc* release.config.* .goreleaser.y*ml
    serverless.* samconfig.toml cdk.json pulumi.* skaffold.y*ml tiltfile .terraformrc terraform.rc ansible.cfg .ansible.cfg .htaccess
    .user.ini php.ini wrangler.* .air.toml .well-known crossplane.yaml .release-it.* .versionrc* .moon dagger.json helmfile*`,
  // Package managers, compilers, test runners and linters run code named in these, often as soon as the editor looks at the folder.
  build: `package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.* pnpmfile.* .npmrc     .yarnrc* .yarn .pnp.* bunfig.toml .bunfig.toml bun.lock* deno.json* deno.lock jsr.json* node_modules bower.json .bowerrc lerna.json nx.json turbo.json
    rush.json project.json angular.json .angular-cli.json workspace.json nodemon.json .nodemonrc* .mocharc* .nycrc* .c8rc*
    *.config.js *.config.cjs *.config.mjs *.config.ts *.config.cts *.config.mts *.conf.js *.conf.ts .eslintrc* .babelrc* babel.config*
    .prettierrc* .stylelintrc* .swcrc .postcssrc* .parcelrc .huskyrc* .remarkrc* .jshintrc .xo-config* biome.json*
    .testcaferc* .taprc .ava* gulpfile* gruntfile* jakefile* makefile makefile.* gnumakefile bsdmakefile *.mk *.mak configure     *.m4 cmakelists.txt cmakepresets.json cmakeuserpresets.json *.cmake meson.build meson_options.txt meson.options build.ninja sconstruct sconscript wscript
    justfile .justfile taskfile* .task* earthfile* vagrantfile* dockerfile* *.dockerfile containerfile* docker-compose* compose.y*ml
    compose.*.y*ml docker-bake.* devenv.* devbox.json flake.nix flake.lock shell.nix default.nix guix.scm manifest.scm build.bazel bazel workspace.bazel workspace.bzlmod module.bazel* *.bzl *.star .bazelrc .bazelversion bazeliskrc .bazeliskrc .buckconfig* .buckroot .plz
    .plzconfig* pants.toml pants* .watchmanconfig setup.py setup.cfg pyproject.toml requirements*.txt requirements*.in constraints*.txt pipfile
    pipfile.lock poetry.lock poetry.toml uv.lock uv.toml pdm.lock pdm.toml .pdm* pixi.toml pixi.lock environment.y*ml conda*.y*ml .condarc
    condarc pip.conf pip.ini .pypirc conftest.py sitecustomize.py usercustomize.py *.pth tox.ini .toxrc noxfile.py pytest.ini .pytest.ini
    .coveragerc mypy.ini .mypy.ini .pylintrc pylintrc .flake8 .pyre_configuration
    .venv venv .virtualenv __pycache__ *.pyc fabfile* dodo.py cargo.toml cargo.lock .cargo build.rs rust-toolchain
    rust-toolchain.toml cross.toml go.mod go.sum go.work go.work.sum .golangci.* magefile* gemfile* *.gemspec gems.rb
    gems.locked rakefile* *.rake .bundle .gemrc .rspec .rspec-local .rubocop* guardfile capfile podfile* *.podspec cartfile*
    fastfile appfile matchfile dangerfile* brewfile* composer.json composer.lock phpunit.xml* phpstan.neon* psalm.xml* .php-cs-fixer* .php_cs*
    pom.xml *.pom build.gradle* settings.gradle* *.gradle *.gradle.kts init.gradle* gradle.properties gradle-wrapper.* gradlew* .gradle mvnw* .mvn
    build.xml ivy.xml build.sbt *.sbt .sbtopts .jvmopts .jvmprofile .scalafix.conf build.sc build.mill .mill* project.clj deps.edn
    bb.edn shadow-cljs.edn build.boot profiles.clj *.csproj *.fsproj *.vbproj *.vcxproj* *.sln *.slnx *.slnf *.proj *.projitems *.props *.targets
    *.tasks *.rsp nuget.config packages.config packages.lock.json global.json dotnet-tools.json directory.*.props directory.*.targets cake.config *.cake *proj.user *.suo     omnisharp.json *.xcodeproj *.xcworkspace *.xcconfig *.pbxproj *.xcscheme package.swift package.resolved     .swiftpm mix.exs mix.lock .formatter.exs .credo.exs rebar.config* rebar.lock erlang.mk dune dune-project dune-workspace *.opam     stack.yaml* cabal.project* *.cabal package.yaml setup.hs setup.lhs .hlint.yaml build.zig build.zig.zon zls.json makefile.pl build.pl cpanfile*
    dist.ini .perltidyrc .perlcriticrc *.nimble nim.cfg *.nims config.nims project.toml renv.lock .lintr .luacheckrc .luarc.json
    *.rockspec .busted shard.yml shard.lock dub.json dub.sdl pubspec.yaml pubspec.lock analysis_options.yaml build.yaml melos.yaml elm.json
    spago.* bsconfig.json rescript.json foundry.toml hardhat.config* truffle-config* remappings.txt brownie-config* anchor.toml .tflint.hcl
    terragrunt.hcl .terraform .terraform.lock.hcl .pre-build* .post-build* postinstall* preinstall* *.vsix .bin .latexmkrc latexmkrc texmf.cnf pkgbuild .storybook
    .eleventy.* .sequelizerc knexfile.* plopfile.* .umirc.* .size-limit.* .lighthouserc.* .dependency-cruiser.* .ncurc* .oxlintrc* conf.py mkdocs.y*ml
    kbuild kconfig configure.ac configure.in autogen.sh vcpkg.json thorfile pyvenv.cfg import_map.json importmap.json jest.setup.* jest-preset.* vitest.setup.*
    vitest.workspace.* webpack.*.js webpack.*.ts gatsby-node.* gatsby-config.* gatsby-ssr.* gatsby-browser.* ember-cli-build.js .ember-cli codegen.ts
    ormconfig.* *.runsettings paket.* build.fsx build.ps1 build.cake gunicorn.conf.py celeryconfig.py alembic.ini nextflow.config .dvc dvc.yaml mlproject
    package.json5 jest.config.* .sbtrc
    book.toml lakefile.* doxyfile conanfile.* xmake.lua premake*.lua tupfile snakefile .m2`,
};

const exact = new Map<string, GuardReason>();
/**
 * Names with wildcards by two signs that they begin or end with: only those are tried that may match, because a command of an agent may name ten
 * thousand files.
 */
const wild = new Map<string, { readonly matches: (name: string) => boolean; readonly reason: GuardReason }[]>();
for (const reason of ['versionControl', 'editor', 'agent', 'shell', 'automation', 'build'] as const) {
  for (const name of LIST[reason].split(/\s+/)) {
    if (name.includes('*')) {
      const signs = name.startsWith('*') ? `*${name.slice(-2)}` : name.slice(0, 2);
      wild.set(signs, [...(wild.get(signs) ?? []), { matches: globMatcher(name, 'path'), reason }]);
    } else if (!exact.has(name)) exact.set(name, reason);
  }
}

let byUser: readonly { readonly matches: (path: string) => boolean; readonly read: ReadGlob }[] = [];

/** Sets the globs that the user adds: with a slash of either kind for paths below a workspace folder, else for names anywhere. Once per bundle. */
export function setGuardedFiles(globs: readonly string[]): void {
  byUser = globs.map((written) => {
    const glob = written.replaceAll('\\', '/');
    const matches = globMatcher(foldPath(glob), 'path');
    const read = readGlob(foldPath(glob));
    return { matches: glob.includes('/') ? matches : (path: string) => path.split('/').some(matches), read };
  });
}

/** No system that keeps a workspace takes a longer path by itself; to judge each of its names would stop the editor. */
const LONGEST_PATH = 4096;

/** Why a change of this file is always shown; undefined when it need not be. The path is below a workspace folder, links followed, any separators. */
export function guardReason(below: string): GuardReason | undefined {
  if (below.length > LONGEST_PATH) return 'name';
  const names = below.split(/[\\/]/).filter((name) => name !== '' && name !== '.');
  if (names.some(isDeceptiveName)) return 'name';
  const folded = names.map(foldName);
  for (const name of folded) {
    const reason = exact.get(name) ?? wildReason(name);
    if (reason) return reason;
  }
  const path = folded.join('/');
  return byUser.some(({ matches }) => matches(path)) ? 'user' : undefined;
}

/**
 * Why a command that writes what a glob stands for may write a guarded file of the list in `mayBeGuarded`. Files of build tools do not count, and of a
 * glob that begins with a wildcard only what agents and servers follow: `*.py` and `*.txt` are meant for others.
 */
export function globReason(glob: string): GuardReason | undefined {
  if (glob.length > LONGEST_PATH) return undefined;
  const names = glob
    .split(/[\\/]/)
    .filter((name) => name !== '' && name !== '.')
    .map(foldName);
  // Folders of any name lead to others as well.
  const wilds = names.filter((name, at) => /[*?]/.test(name) && (at === names.length - 1 || !/^[*?]+$/.test(name)));
  for (const name of wilds) {
    const isOpen = /^[*?]/.test(name);
    const read = readGlob(name);
    plainNames ??= REASONS.flatMap((reason) => plainNamesOf(reason));
    // A wildcard at the beginning does not stand for a dot.
    const found = plainNames.find((one) => !(isOpen && (one.isHidden || !OPEN_REASONS.has(one.reason))) && globsMeet(read, one.read));
    if (found) return found.reason;
  }
  const ends = byUser.length === 0 ? [] : names.map((_, at) => readGlob(names.slice(at).join('/')));
  return byUser.some(({ read }) => ends.some((end) => globsMeet(end, read))) ? 'user' : undefined;
}
const OPEN_REASONS: ReadonlySet<GuardReason> = new Set(['agent', 'automation']);
const REASONS = ['agent', 'versionControl', 'editor', 'shell', 'automation'] as const;

/** Names of the list without wildcards. */
function plainNamesOf(reason: (typeof REASONS)[number]) {
  const names = LIST[reason].split(/\s+/).filter((name) => !name.includes('*'));
  return names.map((name) => ({ read: readGlob(name), isHidden: name.startsWith('.'), reason }));
}
let plainNames: readonly ReturnType<typeof plainNamesOf>[number][] | undefined;

/** True when a glob may stand for the path of a guarded file: `*` and `?` as a shell reads them. */
export function mayBeGuarded(glob: string): boolean {
  if (glob.length > LONGEST_PATH || guardReason(glob.replace(/[*?]/g, 'x')) !== undefined) return true;
  const names = glob
    .split(/[\\/]/)
    .filter((name) => name !== '' && name !== '.')
    .map(foldName);
  const wilds = names.filter((name) => /[*?]/.test(name));
  if (wilds.some(meetsList)) return true;
  // A path of the user's is below a folder of the workspace, which the glob may name as well.
  const ends = byUser.length === 0 ? [] : names.map((_, at) => readGlob(names.slice(at).join('/')));
  return byUser.some(({ read }) => ends.some((end) => globsMeet(end, read)));
}

/** Names with any ending count for endings that something reads: `*.png` may be `lefthook.png`, which nothing does. */
function meetsList(name: string): boolean {
  const glob = readGlob(name);
  const ending = name.slice(Math.max(name.lastIndexOf('*'), name.lastIndexOf('?')) + 1);
  const isRead = ENDINGS.some((one) => one.endsWith(ending) || ending.endsWith(one));
  listed ??= Object.values(LIST)
    .flatMap((names) => names.split(/\s+/))
    // Meant are two endings, not all between.
    .flatMap((one) => (one.includes('y*ml') ? ['yml', 'yaml'].map((ending) => one.replace('y*ml', ending)) : [one]))
    .map((one) => ({ read: readGlob(one), isOpen: one.endsWith('*') }));
  return listed.some(({ read, isOpen }) => (isRead || !isOpen) && globsMeet(glob, read));
}
const ENDINGS =
  '.json .json5 .jsonc .js .cjs .mjs .ts .cts .mts .jsx .tsx .yml .yaml .toml .lua .py .rb .sh .ini .xml .cfg .conf .hcl .local'.split(' ');
/** The names of the list, read when the first glob comes. */
let listed: readonly { readonly read: ReadGlob; readonly isOpen: boolean }[] | undefined;

function wildReason(name: string): GuardReason | undefined {
  const [begins, ends] = [wild.get(name.slice(0, 2)), wild.get(`*${name.slice(-2)}`)];
  return (begins?.find(({ matches }) => matches(name)) ?? ends?.find(({ matches }) => matches(name)))?.reason;
}

function foldPath(path: string): string {
  return path.split('/').map(foldName).join('/');
}
