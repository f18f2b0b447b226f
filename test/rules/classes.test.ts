import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changingIn, closuresOf, collaboratorsIn } from './classes.ts';
import { belowIn } from './order.ts';
import { classesIn, measureFiles, measurePlanted, type OwnClass } from './program.ts';

/* Bars of classes, measured with the compiler's own syntax tree and types (classes.ts). Each is shown to catch what it is there for by planted code. */

interface Measured {
  readonly where: string;
  readonly file: string;
  readonly closures: readonly string[];
  readonly changing: readonly string[];
  readonly collaborators: readonly string[];
}
const measure = (own: OwnClass): Measured => ({
  where: `${own.file} ${own.node.name?.text}`,
  file: own.file,
  closures: closuresOf(own),
  changing: changingIn(own),
  collaborators: collaboratorsIn(own),
});
const files = measureFiles(['tsconfig.json', 'webview/tsconfig.json'], ['src', 'webview'], (own) => [
  { file: own.file, below: belowIn(own), classes: classesIn(own).map(measure) },
]);
const all = files.flatMap(({ classes }) => classes);

test('no class hands closures over itself to its own parts', () => {
  assert.deepEqual(
    all.flatMap(({ where, closures }) => closures.map((closure) => `${where} ${closure}`)),
    [],
  );
});

/**
 * Classes above the bar when each member of an object of dependencies (Deps, Ports) counts as a collaborator. Counted by their fields, as the bar
 * was set, none has more than six. The list may only shrink.
 */
const CROWDED: Readonly<Record<string, number>> = {
  'src/live/review/changeSet.ts ChangeSet': 11,
  'src/live/liveSession.ts LiveSession': 9,
  'src/live/sessions.ts Sessions': 8,
  'src/editor/approvals/approvals.ts Approvals': 7,
  'src/editor/chatLink.ts ChatLink': 9,
  'src/serve/hosted.ts HostedSessions': 8,
  'src/serve/host.ts ClientRequests': 13,
};
const crowded = (classes: readonly Pick<Measured, 'where' | 'collaborators'>[]) =>
  classes.flatMap(({ where, collaborators: { length } }) => (length > (CROWDED[where] ?? 6) ? [`${where}: ${length}`] : []));

test('a class has at most six collaborators', () => {
  assert.deepEqual(crowded(all), []);
  const counts = new Map(all.map(({ where, collaborators }) => [where, collaborators.length]));
  const fewer = Object.entries(CROWDED).filter(([where, most]) => (counts.get(where) ?? 0) < most);
  assert.deepEqual(fewer, [], 'has fewer now: lower it in the list');
  const plant = (field: (at: number) => string) => {
    const fields = Array.from({ length: 7 }, (_, at) => `  ${field(at)};\n`).join('');
    const code = `class Part { run(): void {} }\nfunction makePart(): Part { return new Part(); }\nclass A {\n${fields}}\nexport { A };\n`;
    return crowded(measurePlanted(code, (own) => classesIn(own).map(measure)));
  };
  assert.deepEqual(
    plant((at) => `readonly #part${at}: Part | undefined`),
    ['src/x.ts A: 7'],
  );
  assert.deepEqual(
    plant((at) => `readonly #part${at} = new Part()`),
    ['src/x.ts A: 7'],
  );
  assert.deepEqual(
    plant((at) => `readonly #part${at} = makePart()`),
    ['src/x.ts A: 7'],
  );
  assert.deepEqual(
    plant((at) => `readonly #part${at} = new Map<string, Part>()`),
    [],
  );
  const members = Array.from({ length: 7 }, (_, at) => `readonly part${at}: Part`).join('; ');
  for (const type of [`{ ${members} }`, 'Deps']) {
    const code = `class Part { run(): void {} }\ninterface Deps { ${members}; readonly say: () => void }\nclass A {\n  readonly #deps: ${type};\n}\nexport { A };\n`;
    assert.deepEqual(crowded(measurePlanted(code, (own) => classesIn(own).map(measure))), ['src/x.ts A: 7']);
  }
});

/** The closures of a class with these members, without their lines. */
function found(members: string): readonly string[] {
  const code = `
class Part { constructor(given: unknown) {} run(): void {} attach(given: unknown): void {} onRun: unknown; hooks: unknown[] = []; readonly on = { run: undefined as unknown }; dispose(): void {} }
function makePart(given: unknown): Part { return new Part(undefined); }
async function makeLater(given: unknown): Promise<Part> { return new Part(undefined); }
function listenTo(given: unknown): { dispose(): void } { return { dispose() {} }; }
function countOf(given: unknown): number { return 1; }
class Lifetime { own<T>(one: T): T { return one; } }
class Whole {
  readonly #life = new Lifetime();
  readonly #parts = new Map<string, Part>();
  #part: Part | undefined;
  #count = 0;
  #c(): void {}
${members}
}
export { Whole };
`;
  return measurePlanted(code, (own) => classesIn(own).flatMap(closuresOf)).map((closure) => closure.replace(/^\d+: /, ''));
}

test('closures: in the constructor, a field and a method, on one line and on several', () => {
  assert.deepEqual(found('  readonly #b = new Part(() => this.#c());'), ['() => this.#c()']);
  assert.deepEqual(found('  constructor() {\n    this.#part = new Part({ say: (x: number) => this.#c() });\n  }'), [
    '(x: number) => this.#c()',
  ]);
  assert.deepEqual(
    found('  a(): void {\n    const part = new Part({\n      say: () => {\n        this.#c();\n      },\n    });\n    part.run();\n  }'),
    ['() => { this.#c(); }'],
  );
});

test('closures: bound methods, method references, and the object itself', () => {
  assert.deepEqual(found('  readonly #b = new Part(this.#c.bind(this));'), ['this.#c.bind(this)']);
  assert.deepEqual(found('  readonly #b = new Part({ c: this.#c });'), ['this.#c']);
  assert.deepEqual(found('  readonly #b = new Part(this);'), ['this']);
});

test('closures: through a factory whose part is kept, at once or later', () => {
  assert.deepEqual(found('  readonly #b = makePart(() => this.#c());'), ['() => this.#c()']);
  assert.deepEqual(found('  a(): void {\n    const one = makePart(this.#c);\n    this.#parts.set("a", one);\n  }'), ['this.#c']);
  assert.deepEqual(found('  async a(): Promise<void> {\n    this.#part = await makeLater(() => this.#c());\n  }'), ['() => this.#c()']);
  assert.deepEqual(found('  a(): void {\n    this.#life.own(makePart(() => this.#c()));\n  }'), ['() => this.#c()']);
});

test('closures: by way of a variable, another function, a method that collects them', () => {
  assert.deepEqual(found('  a(): void {\n    const self = this;\n    new Part(() => self.#c());\n  }'), ['() => self.#c()']);
  assert.deepEqual(found('  a(): void {\n    const run = () => this.#c();\n    const deps = { run };\n    new Part(deps);\n  }'), [
    '() => this.#c()',
  ]);
  assert.deepEqual(found('  a(): void {\n    const run = () => this.#c();\n    new Part({ go: () => run() });\n  }'), ['() => run()']);
  assert.deepEqual(found('  #deps() {\n    return { run: () => this.#c() };\n  }\n  readonly #b = new Part(this.#deps());'), [
    '() => this.#c()',
  ]);
});

test('closures: through a method or a member of a part that is there already', () => {
  assert.deepEqual(found('  readonly #b = new Part(1);\n  a(): void {\n    this.#b.attach(() => this.#c());\n  }'), ['() => this.#c()']);
  assert.deepEqual(found('  readonly #b = new Part(1);\n  a(): void {\n    this.#b.onRun = () => this.#c();\n  }'), ['() => this.#c()']);
});

test('closures: into a collection or an object of a part', () => {
  const held = '  readonly #b = new Part(1);\n';
  assert.deepEqual(found(`${held}  a(): void {\n    this.#b.hooks.push(() => this.#c());\n  }`), ['() => this.#c()']);
  assert.deepEqual(found(`${held}  a(): void {\n    this.#b.on.run = () => this.#c();\n  }`), ['() => this.#c()']);
  assert.deepEqual(found('  readonly #own: unknown[] = [];\n  a(): void {\n    this.#own.push(() => this.#c());\n  }'), []);
});

test('closures: members of a literal and functions that reach the class by a variable', () => {
  const self = '  a(): void {\n    const self = this;\n    ';
  assert.deepEqual(found(`${self}new Part({ get go() { return self.#count; } });\n  }`), ['get go() { return self.#count; }']);
  assert.deepEqual(found(`${self}new Part({ go() { self.#c(); } });\n  }`), ['go() { self.#c(); }']);
  assert.deepEqual(found(`${self}new Part(function () { self.#c(); });\n  }`), ['function () { self.#c(); }']);
  assert.deepEqual(found('  a(): void {\n    new Part({ count: 1, get go() { return this.count; } });\n  }'), []);
});

test('a class that is an expression is measured as any other', () => {
  const code = 'const A = class Inner {\n  #a = 0;\n  #b = 0;\n};\nexport { A };\n';
  assert.deepEqual(changing(code), ['#a', '#b']);
});

test('closures: not the platform, a subscription, a function that keeps nothing, or data', () => {
  assert.deepEqual(found('  readonly #b = setTimeout(() => this.#c(), 1);'), []);
  assert.deepEqual(found('  a(): void {\n    this.#life.own(listenTo(() => this.#c()));\n  }'), []);
  assert.deepEqual(found('  a(): void {\n    this.#count = countOf(() => this.#c());\n  }'), []);
  assert.deepEqual(found('  a(): void {\n    makePart(() => this.#c()).run();\n  }'), []);
  assert.deepEqual(
    found('  a(): void {\n    const life = this.#life;\n    new Part({ count: this.#count, end: () => life.own(1) });\n  }'),
    [],
  );
});

/** A widget of the view also holds what is on the screen. */
const mostChanging = (file: string): number => (file.startsWith('webview/') ? 10 : 6);

test('a class has at most six fields that change, with what changes in the objects they hold', () => {
  assert.deepEqual(
    all.flatMap(({ where, file, changing }) => (changing.length > mostChanging(file) ? [`${where}: ${changing.join(' ')}`] : [])),
    [],
  );
});

const changing = (code: string): readonly string[] => measurePlanted(code, (own) => classesIn(own).flatMap(changingIn));

test('fields that change: assigned ones and collections, not fixed ones', () => {
  const code =
    'class A {\n  #a = 0;\n  b?: string;\n  readonly #seen = new Set<string>();\n  readonly #list: string[] = [];\n  readonly #fixed = 1;\n}\n';
  assert.deepEqual(changing(code), ['#a', 'b', '#seen', '#list']);
});

test('fields that change: variables around the class that it assigns', () => {
  const code =
    'let a = 0;\nlet b = 0;\nlet unused = 0;\nfunction make() {\n  let c = 0;\n  class A {\n    go(): void {\n      a += 1;\n      b++;\n      c = unused;\n    }\n  }\n  return new A();\n}\nexport { make };\n';
  assert.deepEqual([...changing(code)].sort(), ['a', 'b', 'c']);
});

test('fields that change: the members of what a field holds, changed directly or by a variable', () => {
  const bag =
    'interface Bag {\n  count: number;\n  text: string;\n  readonly seen: Set<string>;\n  readonly fixed: number;\n}\ndeclare const bag: Bag;\n';
  const members = ['#bag.count', '#bag.text', '#bag.seen'];
  assert.deepEqual(changing(`${bag}class A {\n  readonly #bag: Bag = bag;\n  a(): void {\n    this.#bag.count += 1;\n  }\n}\n`), members);
  assert.deepEqual(
    changing(`${bag}class A {\n  readonly #bag = bag;\n  a(): void {\n    const b = this.#bag;\n    b.count++;\n  }\n}\n`),
    members,
  );
  assert.deepEqual(changing(`${bag}class A {\n  readonly #bag = bag;\n  a(): void {\n    this.#bag.seen.add('');\n  }\n}\n`), members);
  assert.deepEqual(
    changing(`${bag}class A {\n  #bag: Bag | undefined;\n  a(): void {\n    if (this.#bag) this.#bag.text = '';\n  }\n}\n`),
    ['#bag', ...members],
  );
  assert.deepEqual(changing('class A {\n  readonly #total = { in: 0, out: 0 };\n  a(): void {\n    this.#total.in += 1;\n  }\n}\n'), [
    '#total.in',
  ]);
});

test('fields that change: public fields of a part that are assigned, not what is only read or what a part does itself', () => {
  const part = 'class Part {\n  open = 0;\n  #own = 0;\n  act(): void {\n    this.#own = this.open;\n  }\n}\n';
  const whole = (body: string) =>
    changing(`${part}class A {\n  readonly #part = new Part();\n  a(): void {\n    ${body}\n  }\n}\n`).slice(2);
  assert.deepEqual(whole('this.#part.open = 1;'), ['#part.open']);
  assert.deepEqual(whole('this.#part.act();'), []);
  const bag = 'interface Terms {\n  count: number;\n}\ndeclare const terms: Terms;\n';
  assert.deepEqual(
    changing(`${bag}class A {\n  readonly #terms: Terms = terms;\n  a(): boolean {\n    return !this.#terms.count;\n  }\n}\n`),
    [],
  );
});

test('fields that change: not the state of a machine, in any of its layers', () => {
  const code = `
interface State { phase: string; count: number }
abstract class Step<S> { readonly state: S; constructor(state: S) { this.state = state; } }
abstract class Layer extends Step<State> {}
class Machine extends Layer { take(): void { this.state.count += 1; } }
class Other { readonly state: State; constructor(state: State) { this.state = state; } take(): void { this.state.count += 1; } }
export { Machine, Other };
`;
  assert.deepEqual(changing(code), ['state.phase', 'state.count']);
});

test('no function needs a line below it to have run, in any file', () => {
  assert.ok(files.length > 400, `${files.length} files`);
  assert.deepEqual(
    files.flatMap(({ file, below }) => below.map((one) => `${file} ${one}`)),
    [],
  );
  const below = (body: string) =>
    measurePlanted(
      `declare function use(f: unknown): number;\nfunction start() {\n${body}\n}\nclass Late { run(): void {} }\nexport { start };\n`,
      belowIn,
    );
  assert.deepEqual(below('  const a = use(() => b);\n  const b = use(a);'), ['3: b']);
  assert.deepEqual(below('  const a = use({ of: () => b });\n  const b = use(a);'), ['3: b']);
  assert.deepEqual(below('  if (a) {\n    use(function () {\n      return later;\n    });\n  }\n  const { later } = { later: 1 };'), [
    '5: later',
  ]);
  assert.deepEqual(below('  let later: Late | undefined;\n  use(() => later?.run());\n  later = new Late();'), ['4: later']);
  assert.deepEqual(below('  let later: number | undefined;\n  use(() => later);\n  later = start();'), ['4: later']);
  assert.deepEqual(below('  let since: number | undefined;\n  use(() => since);\n  since = 1;'), []);
  assert.deepEqual(below('  let count: number;\n  count = 1;\n  use(() => count);'), []);
  assert.deepEqual(below('  const end = () => { use(timer); };\n  const timer = use(end);'), ['3: timer']);
  assert.deepEqual(below('  use(new Promise(() => {\n    const end = () => { use(timer); };\n    const timer = use(end);\n  }));'), []);
  assert.deepEqual(below('  const b = 1;\n  use(() => b);\n  use((c: number) => c);\n  const c = 1;\n  use(c);'), []);
});
