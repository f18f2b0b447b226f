import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { math } from '../../webview/bundles/math.ts';
import { blocksOf, drawBlocks, targetAt } from '../../webview/markdown.ts';
import { MarkdownView } from '../../webview/markdownView.ts';
import { fontsHaveLetters, usePlainLetters } from '../../webview/math.ts';
import { provide } from '../../webview/onDemand.ts';
import { assertLinear } from '../attack/linear.ts';
import { frame, window } from './dom.ts';
import { MARKDOWN } from './page/sessions.ts';

function oneShot(text: string): string {
  const root = document.createElement('div');
  new MarkdownView(root).show(text, true);
  return root.innerHTML;
}

function inPieces(text: string, cuts: readonly number[]): string {
  const root = document.createElement('div');
  const view = new MarkdownView(root);
  for (const cut of cuts) view.show(text.slice(0, cut), false);
  view.show(text, true);
  return root.innerHTML;
}

/** A complete text drawn over as many frames as it takes, each right behind the one before. `cuts`: where its pieces end. */
function overFrames(text: string, cuts: readonly number[] = []): { readonly root: HTMLElement; readonly frames: number } {
  const waiting: FrameRequestCallback[] = [];
  const { requestAnimationFrame: real } = globalThis;
  globalThis.requestAnimationFrame = (run) => waiting.push(run);
  try {
    const root = document.createElement('div');
    const view = new MarkdownView(root);
    let frames = 0;
    const draw = () => {
      for (let run = waiting.shift(); run; run = waiting.shift()) {
        frames += 1;
        run(0);
      }
    };
    for (const cut of cuts) {
      view.show(text.slice(0, cut), false);
      draw();
    }
    view.show(text, true);
    draw();
    return { root, frames };
  } finally {
    globalThis.requestAnimationFrame = real;
  }
}

/** Same numbers every time. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

const NASTY = [
  MARKDOWN,
  'a\r\nb\r\n\r\n```js\r\nlet x;\r\n```\r\nend\r',
  '- a\n\n- b\n\n  ```py\n  print()\n  ```\n- c\n\ntext\n===\n\n1. x\n\n   y\n2. z\n',
  '~~~~md\n```js\nnot closed here\n```\n~~~\nstill\n~~~~~  \nafter\n\n```a`b\n\n````\nx\n```\ny\n`````\nz',
  '[a][1] and [b]\n\npara\n\n[1]: https://example.com/1\n[b]: <https://example.com/b>\n\nagain [a][1]\n',
  '| a | b |\n|---|:-:|\n| 1 | `x|y` |\n\n| not a table\n\n***\n\n* * *\n\n> q\n> > r\n\n> s\nlazy\n',
  '<details>\n<summary>more</summary>\n\ninside\n\n</details>\n\n<!-- hidden\n\nstill -->\n\na <kbd>x</kbd> b<br>c <u>d</u>\n',
  '    indented\n\n    more\n\ntext\n\n\tcode\n   \n  ```\n  fence with two spaces\n  ```\n',
  '```\nno end\n\n``',
  '```ts\nconst a = 1;\n```',
  '# a\n## b\n\n\n\nc\n---\n- [x] d\n- [ ] e\n\n***f** g*\n\n日本語のテキスト。\n\n- 一\n- 二\n',
  '```\n```\n```\n\n```\n',
  'x\n```\n  a\n ```` \ny',
  'a $x^2$ b\n\n$$\na\n+ b\nc\n- d\n# e\n$$\n\n\\[\nx\n\\]\nafter\n\n$$ never ends\n\n- a\n\n\\(y\\) and $5 or $10\n',
  '$$ a\n- b\n\nc $$\n\n- d\n- e\n\n$$x$$ y\n',
];

test('markdown that comes in pieces is drawn as if it had come at once', () => {
  const random = randoms(7);
  for (const text of NASTY) {
    const expected = oneShot(text);
    assert.equal(
      inPieces(
        text,
        [...text].map((_, at) => at),
      ),
      expected,
      `letter by letter: ${text.slice(0, 40)}`,
    );
    for (let cut = 1; cut < text.length; cut += 5) assert.equal(inPieces(text, [cut]), expected, `cut at ${cut}: ${text.slice(0, 40)}`);
  }
  for (let round = 0; round < 25; round += 1) {
    const text = Array.from({ length: 4 }, () => NASTY[Math.floor(random() * NASTY.length)]).join(random() < 0.5 ? '\n' : '\n\n');
    const cuts = Array.from({ length: 12 }, () => Math.floor(random() * text.length)).sort((a, b) => a - b);
    assert.equal(inPieces(text, cuts), oneShot(text), JSON.stringify({ text, cuts }));
  }
});

test('blocks are gathered in the same boxes whatever pieces they came in', () => {
  const text = Array.from({ length: 90 }, (_, n) => (n % 7 ? `Paragraph ${n}.` : `\`\`\`\n${n}\n\`\`\``)).join('\n\n');
  const expected = oneShot(text);
  assert.equal(inPieces(text, [100, 350, 600, 601, 790, 900]), expected);
  assert.equal(
    inPieces(
      text,
      Array.from({ length: 60 }, (_, n) => n * 21),
    ),
    expected,
  );
});

test('finished blocks keep their elements while the text grows', () => {
  const root = document.createElement('div');
  const view = new MarkdownView(root);
  view.show('# Title\n\nFirst.\n\nSecond.\n\n```js\nlet a;\n', false);
  const [title, first] = root.children[0]?.children ?? [];
  const line = root.querySelector('.code-piece')?.firstChild;
  view.show('# Title\n\nFirst.\n\nSecond.\n\n```js\nlet a;\nlet b;\n```\n\nThird.\n\nFourth.', false);
  assert.equal(root.querySelectorAll('.chunk > *')[0], title);
  assert.equal(root.querySelectorAll('.chunk > *')[1], first);
  assert.ok(title?.classList.contains('finished'));
  assert.equal(line?.textContent, 'let a;\nlet b;\n');
});

test('a long fence lives in short texts under few elements each', () => {
  const root = document.createElement('div');
  const view = new MarkdownView(root);
  const lines = Array.from({ length: 450 }, (_, n) => `line ${n}\n`);
  let text = '```\n';
  for (const line of lines) {
    text += line;
    view.show(text, false);
  }
  const pieces = [...root.querySelectorAll('.code-piece')];
  for (const piece of pieces) assert.ok(piece.childNodes.length <= 20);
  const ends = pieces.filter((piece) => piece.firstElementChild === null).map((piece) => piece.textContent ?? '');
  assert.deepEqual(
    ends.map((end) => end.split('\n').length - 1),
    [...Array.from({ length: 22 }, () => 20), 10],
  );
  assert.equal(root.querySelector('code')?.textContent, lines.join(''));
});

test('a text that is another one than before is drawn anew', () => {
  const root = document.createElement('div');
  const view = new MarkdownView(root);
  view.show('The first try', false);
  view.show('Another answer', false);
  assert.equal(root.textContent?.trim(), 'Another answer');
});

test('a tag that is shown as text has its end shown, too; one that is drawn has not', () => {
  const seen = (text: string) => {
    const root = document.createElement('div');
    new MarkdownView(root).show(text, true);
    return [root.textContent?.trim(), root.querySelectorAll('b').length];
  };
  assert.deepEqual(seen('a <b onclick="x">html</b> b'), ['a <b onclick="x">html</b> b', 0]);
  assert.deepEqual(seen('a <b>html</b> b'), ['a html b', 1]);
  assert.deepEqual(seen('<b>a <b class="x">b</b> c</b> d'), ['a <b class="x">b</b> c d', 1]);
});

test('nothing in a text can run, load or leave', () => {
  const texts = [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '![beacon](https://evil.test/pixel.png)',
    '[x](javascript:alert(1)) [y](JaVaScRiPt:alert(1)) [z](data:text/html,hi) [c](command:workbench.action.quit) [v](vscode://x.y)',
    '<style>body{display:none}</style>',
    '<a href="javascript:alert(1)" onclick="alert(1)">x</a>',
    '<iframe src="https://evil.test"></iframe><form action="https://evil.test"><input></form>',
    '<svg onload=alert(1)><use href="data:x"/></svg>',
    '<b onmouseover=alert(1) style="position:fixed">b</b>',
    '```html\n<img src=x onerror=alert(1)>\n```',
    '```"><img src=x onerror=alert(1)>\ncode\n```',
    '| <img src=x onerror=alert(1)> |\n|---|\n| <script>1</script> |',
    '[a]: javascript:alert(1)\n\n[a]',
    '<math><mtext></mtext><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
    '&lt;img src=x onerror=alert(1)&gt;',
  ];
  for (const text of texts) {
    const root = document.createElement('div');
    new MarkdownView(root).show(text, true);
    for (const element of root.querySelectorAll('*')) {
      assert.ok(
        !/^(?:script|style|img|iframe|form|input|object|embed|link|meta|video|audio|use|math)$/i.test(element.tagName),
        `${text} -> ${element.outerHTML}`,
      );
      for (const { name, value } of element.attributes) {
        assert.ok(!name.startsWith('on') && name !== 'style' && name !== 'src', `${text} -> ${element.outerHTML}`);
        assert.ok(name !== 'href' || /^(?:https?:|mailto:|#$)/.test(value), `${text} -> ${element.outerHTML}`);
      }
    }
  }
});

test('links to files of every system lead there, and those to anything else are text', () => {
  const drawn = (href: string) => {
    const fragment = drawBlocks(blocksOf(`[x](<${href}>)`, {}));
    const link = fragment.querySelector('a');
    const target = link ? targetAt(link) : undefined;
    assert.equal(fragment.textContent?.trim(), 'x');
    return [link?.getAttribute('href'), target?.kind === 'file' ? `${target.path}:${target.line ?? 0}` : target?.uri];
  };
  for (const [href, path] of [
    ['src/a.ts#L7', 'src/a.ts:7'],
    ['src\\main.ts#L1', 'src\\main.ts:1'],
    ['a.ts:12', 'a.ts:12'],
    ['C:\\ws\\a b.ts:3', 'C:\\ws\\a b.ts:3'],
    ['c:/ws/a.ts#L2', 'c:/ws/a.ts:2'],
    ['file:///home/me/a%20b.ts#L3', '/home/me/a b.ts:3'],
    ['file://server/share/a.ts', '\\\\server\\share\\a.ts:0'],
  ] as const)
    assert.deepEqual(drawn(href), ['#', path], href);
  for (const href of [
    'javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'vscode://x/y',
    'javascript.x:alert(1)',
    'j:alert(1)',
  ])
    assert.deepEqual(drawn(href), [undefined, undefined], href);
});

test('the backslashes of Windows paths stay, in words and in addresses, and those of markdown escape', () => {
  const drawn = (text: string) => {
    const fragment = drawBlocks(blocksOf(text, {}));
    const links = [...fragment.querySelectorAll('a')].map((link) => {
      const target = targetAt(link);
      return target?.kind === 'file' ? `${target.path}:${target.line ?? 0}` : target?.uri;
    });
    return [fragment.textContent?.trim(), ...links];
  };
  for (const [text, ...shown] of [
    ['[x](C:\\ws\\.vscode\\settings.json:3) y', 'x y', 'C:\\ws\\.vscode\\settings.json:3'],
    ['[x](<C:\\ws\\.a b\\_c.ts>)\\_', 'x_', 'C:\\ws\\.a b\\_c.ts:0'],
    ['**[z](src\\_a\\b.ts)** and [w](.\\_a\\b.ts "t\\_")', 'z and w', 'src\\_a\\b.ts:0', '.\\_a\\b.ts:0'],
    ['([y](C:\\Users\\me\\(old)\\a.ts), [y](C:\\Users\\me\\(old)\\a.ts).)', '(y, y.)', ...Array(2).fill('C:\\Users\\me\\(old)\\a.ts:0')],
    ['[s](\\\\server\\_share\\a.ts)', 's', '\\\\server\\_share\\a.ts:0'],
    ['[d](C:\\\\ws\\\\\\_a.ts)', 'd', 'C:\\ws\\_a.ts:0'],
    ['[m](docs/a\\_b.md) [n](a\\_b.md)', 'm n', 'docs/a_b.md:0', 'a_b.md:0'],
    ['[h](https://example.org/a\\_b)', 'h', 'https://example.org/a_b'],
    ['see C:\\ws\\.vscode\\_a_, not *C:\\ws\\.b*: \\*x\\_y', 'see C:\\ws\\.vscode\\_a_, not C:\\ws\\.b: *x_y'],
    ['C:\\ws\\*.ts and C:\\b\\*.ts', 'C:\\ws\\*.ts and C:\\b\\*.ts'],
    ['C:\\\\ws\\\\.a, a\\_b, abc:\\_d, x:\\*y\\*', 'C:\\ws\\.a, a_b, abc:_d, x:*y*'],
    ['[r][a], [r][b]\n\n[a]: C:\\ws\\.x\\a.ts:3\n[b]: <C:\\ws\\_a b.ts> "t\\_"', 'r, r', 'C:\\ws\\.x\\a.ts:3', 'C:\\ws\\_a b.ts:0'],
    [
      '[r][a\\]:] [c] [d]\n\n[a\\]:]: src\\_a\\b.ts\n[c]: https://example.org/a\\_b\n[d]: C:\\x\\a.ts',
      'r c d',
      'src\\_a\\b.ts:0',
      'https://example.org/a_b',
      'C:\\x\\a.ts:0',
    ],
    ['`C:\\ws\\`\\_ ``C:\\ws\\.a``', 'C:\\ws\\_ C:\\ws\\.a'],
  ] as const)
    assert.deepEqual(drawn(text), shown, text);
});

test('a crowd of underscores and asterisks stays as it was written, and what stands beside it is drawn as ever', () => {
  const root = document.createElement('div');
  const crowd = '_'.repeat(9000);
  new MarkdownView(root).show(`${crowd}a_ [there](https://example.com) \`x_y\`\n\n*near* ${'`a_b`'.repeat(400)}\n`, true);
  assert.ok(root.textContent?.includes(`${crowd}a_ there x_y`));
  assert.equal(root.querySelectorAll('a').length, 1);
  assert.equal(root.querySelectorAll('em').length, 1);
  assert.equal(root.querySelector('em')?.textContent, 'near');
});

test('quotes and lists inside one another are drawn as far as anybody reads them, however deep they go', () => {
  for (const [mark, tag] of [
    ['> ', 'blockquote'],
    ['- ', 'ul'],
  ] as const) {
    const root = document.createElement('div');
    new MarkdownView(root).show(`${mark.repeat(4000)}x\n\nafter\n`, true);
    const levels = root.querySelectorAll(tag).length;
    assert.ok(levels > 20 && levels < 100, `${levels} levels of ${tag}`);
    assert.ok(root.textContent?.includes('after'));
    assert.equal(root.textContent?.includes('x'), true);
  }
});

test('formulas are told from prices and variables', () => {
  const root = document.createElement('div');
  const text = 'It is $x^2$ or \\(y\\), for $5 to $10, `$HOME`, $PATH and US$5.\n\n$$\n\\frac{1}{2}\n$$\n';
  new MarkdownView(root).show(text, true);
  const formulas = [...root.querySelectorAll<HTMLElement>('code[title^=math]')];
  assert.deepEqual(
    formulas.map(({ title, textContent }) => [title, textContent]),
    [
      ['math', 'x^2'],
      ['math', 'y'],
      ['math block', '\\frac{1}{2}'],
    ],
  );
  assert.match(root.textContent ?? '', /for \$5 to \$10, \$HOME, \$PATH and US\$5\./);
});

test('a formula in the middle of a paragraph, and a heading behind it', () => {
  const root = oneShot('Text\n$$\na\n$$\nmore\n\nHead\n===\n\n$$\n$$\n');
  assert.match(root, /<p[^>]*>Text<\/p>.*title="math block">a<\/code>.*<h1>Head<\/h1>.*\$\$/s);
});

test('a formula becomes MathML that leads nowhere', () => {
  assert.match(math('\\frac{1}{2}', true) ?? '', /^<math[^>]*display="block".*<mfrac>/s);
  for (const tex of ['\\href{javascript:alert(1)}{x}', '\\includegraphics{https://host.test/a.png}', '\\class{a}{x}'])
    assert.doesNotMatch(math(tex, false) ?? '', /href=|src=|<mglyph|class="a"/);
  assert.ok((math('\\def\\a{\\a\\a}\\a', false) ?? '').length < 10_000, 'what expands without end is cut');
});

test('what a formula smuggles past the library that draws it is not drawn', async () => {
  const formulas = [
    '\\label{"><script>alert(1)</script>}\\ref{"><script>alert(1)</script>}',
    '\\label{"><img src=x onerror=alert(1)>}x',
    '\\label{" onclick="alert(1)}x',
    '\\text{</annotation></semantics></math><script>alert(1)</script>}',
    '\\htmlData{onclick=alert(1)}{x}',
    '\\htmlStyle{background:url(https://host.test)}{x}',
    '\\htmlId{x" onclick="alert(1)}{x}',
    '\\color{red" onclick="alert(1)}{x}',
    '\\href{javascript:alert(1)}{x}',
  ];
  provide({ math: { math } });
  try {
    for (const tex of formulas) {
      const root = document.createElement('div');
      new MarkdownView(root).show(`$$${tex}$$\n`, true);
      await frame();
      const drawn = [...root.querySelectorAll('*')];
      assert.ok(drawn.some(({ localName }) => localName === 'math') || root.querySelector('code'), tex);
      for (const element of drawn) {
        assert.doesNotMatch(element.localName, /^(?:script|img|a|iframe|style|object)$/, tex);
        for (const name of element.getAttributeNames()) assert.doesNotMatch(name, /^(?:on|href|src|style)/, `${tex}: ${name}`);
      }
    }
  } finally {
    Reflect.deleteProperty(globalThis, 'parleyBundles');
  }
});

test('a formula is written in letters that all fonts have where none has those of mathematics', () => {
  const formula = document.createElement('div');
  formula.innerHTML = math('x + \\mathbf{v} = \\mathrm{d} \\cdot \\sin 2', true) ?? '';
  usePlainLetters(formula);
  assert.deepEqual(
    [...formula.querySelectorAll('mi')].map((one) => `${one.textContent} ${one.className}`.trim()),
    ['x italic', 'v bold', 'd', 'sin'],
  );
  assert.doesNotMatch(formula.innerHTML.replace(/<annotation.*/s, ''), /[\u{1d400}-\u{1d7ff}]/u);
});

test('a font that draws two letters of mathematics as wide as each other has neither', () => {
  const { HTMLCanvasElement } = window;
  const had = HTMLCanvasElement.prototype.getContext;
  const asWide = (widthOf: (text: string) => number) => {
    HTMLCanvasElement.prototype.getContext = (() => ({ measureText: (text: string) => ({ width: widthOf(text) }) })) as never;
    return fontsHaveLetters();
  };
  try {
    assert.equal(
      asWide(() => 7),
      false,
    );
    assert.equal(
      asWide((text) => (text === '𝑖' ? 3 : 9)),
      true,
    );
  } finally {
    HTMLCanvasElement.prototype.getContext = had;
  }
});

test('text that piled up is drawn over several frames, and all of it', async () => {
  const text = Array.from({ length: 2_000 }, (_, at) => `Paragraph ${at}.\n\n`).join('');
  const root = document.createElement('div');
  const view = new MarkdownView(root);
  view.show('Begin.\n\n', false);
  view.show(`Begin.\n\n${text}`, false, text);
  const first = root.childNodes.length;
  while (!root.textContent?.includes('Paragraph 1999.')) await frame();
  assert.ok(first < root.childNodes.length);
  view.show(`Begin.\n\n${text}end`, true, 'end');
  assert.equal(root.innerHTML, overFrames(`Begin.\n\n${text}end`).root.innerHTML);
});

test('a complete text that is long is drawn over several frames, and all of it', () => {
  const paragraphs = (count: number) => Array.from({ length: count }, (_, at) => `Paragraph ${at}.\n\n`).join('');
  assert.equal(overFrames(paragraphs(100)).frames, 0);
  const [some, many] = [overFrames(paragraphs(1500)), overFrames(paragraphs(4500))];
  assert.ok(some.frames > 1 && many.frames >= 3 * some.frames, `${some.frames} and ${many.frames} frames`);
  assert.match(many.root.textContent ?? '', /Paragraph 0\..*Paragraph 4499\./s);
});

test('a block without an end goes on in another one, and nothing of it is lost', () => {
  const lines = (line: (at: number) => string) => Array.from({ length: 900 }, (_, at) => line(at)).join('\n');
  const blocks: Readonly<Record<string, readonly [string, string]>> = {
    'a paragraph': [lines((at) => `word ${at} and another`), 'p'],
    'one line': [lines((at) => `word ${at} and another`).replaceAll('\n', ' '), 'p'],
    'a word': ['𝒜'.repeat(20_000), 'p'],
    'a list': [lines((at) => `${at % 3 ? '    ' : ''}- word ${at} and another`), 'ul'],
    'a quotation': [lines((at) => `> word ${at} and another`), 'blockquote'],
    'a table': [`|a|b|\n|-|-|\n${lines((at) => `|word ${at}|and another|`)}`, 'table'],
    'a fence behind a paragraph': [`${lines((at) => `word ${at}`)}\n\n\`\`\`\n${lines((at) => `line ${at}`)}\n\`\`\`\n`, 'p'],
  };
  for (const [name, [text, element]] of Object.entries(blocks)) {
    const whole = `Before.\n\n${text}\n\nAfter.\n`;
    const { root } = overFrames(whole);
    assert.ok(root.querySelectorAll(`.block > ${element}, .block > .table-frame > ${element}`).length > 1, name);
    assert.equal(root.querySelector('.block pre'), null, name);
    const shown = root.textContent ?? '';
    for (const word of whole.match(/\d+|After/g) ?? []) assert.ok(shown.includes(word), `${name}: ${word}`);
    assert.equal(shown.match(/𝒜/gu)?.length, whole.match(/𝒜/gu)?.length, name);
    assert.doesNotMatch(shown, /[\uD800-\uDBFF](?![\uDC00-\uDFFF])/, name);
    const cuts = [3, 5000, 16_390].filter((cut) => cut < whole.length);
    assert.equal(overFrames(whole, cuts).root.innerHTML, root.innerHTML, `${name} in pieces`);
  }
});

test('many formulas are drawn over several frames, each once', async () => {
  let drawn = 0;
  const slow = (tex: string) => {
    drawn += 1;
    for (const end = performance.now() + 3; performance.now() < end; );
    return `<math><mi>${tex}</mi></math>`;
  };
  provide({ math: { math: slow } });
  try {
    const root = document.createElement('div');
    new MarkdownView(root).show(Array.from({ length: 40 }, (_, at) => `$x_{${at}}$`).join(' '), true);
    await frame();
    const first = drawn;
    while (drawn < 40) await frame();
    for (let frames = 0; frames < 3; frames += 1) await frame();
    assert.ok(first < 10, `${first} in the first frame`);
    assert.equal(drawn, 40);
  } finally {
    Reflect.deleteProperty(globalThis, 'parleyBundles');
  }
});

test('a formula that may take long stays as it is written', () => {
  const repeated = (definition: string) => `${definition}{${'\\frac{1}{2}'.repeat(250)}}${'\\b'.repeat(199)}`;
  for (const tex of [
    repeated('\\def\\b'),
    repeated('\\gdef\\b'),
    repeated('\\newcommand\\b'),
    repeated('\\newcommand{\\b}'),
    '\\frac{1}{'.repeat(350) + '}'.repeat(350),
    '\\left('.repeat(280) + '\\right)'.repeat(280),
    '\\begin{matrix}'.repeat(120) + '\\end{matrix}'.repeat(120),
  ])
    assert.equal(math(tex, true), undefined, tex.slice(0, 20));
  const rows = Array.from({ length: 60 }, () => '\\frac{a}{\\left(b\\right)} & \\{c\\} \\\\').join('');
  assert.match(math(`\\begin{align}${rows}\\end{align}`, true) ?? '', /<mfrac>/);
  assert.match(math('\\def\\R{\\mathbb{R}}x\\in\\R', false) ?? '', /ℝ/);
});

test('what is said to be new counts only when the lengths agree', () => {
  const root = document.createElement('div');
  const view = new MarkdownView(root);
  view.show('one', false);
  view.show('one two', false, ' two and more');
  assert.equal(root.textContent?.trim(), 'one two');
  view.show('another', false, undefined);
  assert.equal(root.textContent?.trim(), 'another');
});

test('a text with others behind it is taken for complete, until it grows', () => {
  const root = document.createElement('div');
  const view = new MarkdownView(root);
  const isFinished = () => [...root.querySelectorAll('.block')].at(-1)?.classList.contains('finished');
  view.show('One.\n\nTwo.\n', false);
  assert.equal(isFinished(), false);
  view.show('One.\n\nTwo.\n', 'seemingly');
  assert.equal(isFinished(), true);
  view.show('One.\n\nTwo.\n\nThree.\n', 'seemingly', '\nThree.\n');
  assert.equal(isFinished(), false, 'it has turned out to grow');
  view.show('One.\n\nTwo.\n\nThree. More.\n', 'seemingly');
  assert.equal(isFinished(), false);
  view.show('One.\n\nTwo.\n\nThree. More.\n', true);
  assert.equal(root.innerHTML, oneShot('One.\n\nTwo.\n\nThree. More.\n'));
});

test('a diagram has the colours of the theme, is flat, and is drawn again when the theme changes', async () => {
  const host = globalThis as { parleyBundles?: object; mermaid?: object };
  let colours: Readonly<Record<string, unknown>> = {};
  host.parleyBundles = { ...host.parleyBundles, mermaid: {} };
  host.mermaid = {
    initialize: (config: { themeVariables: typeof colours }) => {
      colours = config.themeVariables;
    },
    render: async () => ({
      svg: `<svg xmlns="http://www.w3.org/2000/svg" style="max-width: 500px"><text>${colours.primaryTextColor}</text></svg>`,
    }),
  };
  const { style } = document.documentElement;
  const root = document.createElement('div');
  document.body.append(root);
  const shown = async (wanted: string) => {
    const isShown = () => root.querySelector('.diagram')?.shadowRoot?.innerHTML.includes(`>${wanted}<`);
    for (let frames = 0; frames < 500 && !isShown(); frames += 1) await frame();
    assert.ok(isShown(), wanted);
  };
  style.setProperty('--vscode-editor-foreground', '#abcdef');
  new MarkdownView(root).show('```mermaid\ngraph TD; A-->B\n```\n', true);
  await shown('#abcdef');
  assert.deepEqual([colours.dropShadow, colours.useGradient], ['none', false]);
  const least = () => root.querySelector('.diagram')?.shadowRoot?.querySelector('svg')?.style.minWidth;
  assert.equal(least(), `${Math.round((500 * 9) / 13)}px`, 'letters have 9 px at least');
  root.querySelector<HTMLElement>('.diagram')?.click();
  assert.equal(least(), '500px', 'it has its full size');
  style.setProperty('--vscode-editor-foreground', '#123456');
  document.body.dataset.vscodeThemeId = 'Another';
  await shown('#123456');
  style.removeProperty('--vscode-editor-foreground');
  document.body.classList.add('vscode-light');
  await shown('#3b3b3b');
  document.body.classList.remove('vscode-light');
  await shown('#cccccc');
});

test('marks without end of which nothing comes are drawn in time proportional to them', () => {
  // A formula and a heading are looked for some thousand characters ahead.
  const ahead = ['$', '$$\n', '\\[\n'];
  for (const piece of ['~', '`', '#', '>', '- ', '|', '. ', ...ahead]) {
    assertLinear(
      `answer of ${JSON.stringify(piece)}`,
      ahead.includes(piece) ? 12_000 : 2000,
      (size) => () => overFrames(piece.repeat(size / piece.length)),
      false,
    );
  }
  // Nothing longer is read at once.
  assertLinear('formulas in one paragraph', 2000, (size) => () => blocksOf('x\n$$a$$\n'.repeat(size / 8), {}));
  const paths = ['C:\\.', ' C:\\a\\.', '[a](C:\\', '[a](C:\\.) ', '[a](a\\b', '[C:\\](', '![](C:\\(', '[a](<C:\\.', 'C:\\`'];
  for (const piece of paths)
    assertLinear(`answer of ${JSON.stringify(piece)}`, 2000, (size) => () => blocksOf(piece.repeat(size / piece.length), {}));
  assertLinear('formulas in one line', 2000, (size) => () => blocksOf('$a$ '.repeat(size / 4), {}));
});
