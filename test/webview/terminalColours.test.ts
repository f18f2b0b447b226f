import assert from 'node:assert/strict';
import { test } from 'node:test';
import './dom.ts';
import { callPart, session, turn } from './page/sessions.ts';
import { Stage } from './stage.ts';

const NAMES = ['Black', 'Red', 'Green', 'Yellow', 'Blue', 'Magenta', 'Cyan', 'White'];
const PALETTE = [...NAMES, ...NAMES.map((name) => `Bright${name}`)];

/** Grounds and palettes of the editor's own themes: ground, text, and the sixteen colours. */
const themes: Readonly<Record<string, string>> = {
  'Dark Modern':
    '1f1f1f cccccc 000000 cd3131 0dbc79 e5e510 2472c8 bc3fbc 11a8cd e5e5e5 666666 f14c4c 23d18b f5f543 3b8eea d670d6 29b8db e5e5e5',
  'Light Modern':
    'ffffff 3b3b3b 000000 cd3131 107c10 949800 0451a5 bc05bc 0598bc 555555 666666 cd3131 14ce14 b5ba00 0451a5 bc05bc 0598bc a5a5a5',
  'High Contrast':
    '000000 ffffff 000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff',
  'High Contrast Light':
    'ffffff 292929 292929 cd3131 136c13 949800 0451a5 bc05bc 0598bc 555555 666666 cd3131 00bc00 b5ba00 0451a5 bc05bc 0598bc a5a5a5',
  'Solarized Light':
    'fdf6e3 657b83 073642 dc322f 859900 b58900 268bd2 d33682 2aa198 eee8d5 002b36 cb4b16 586e75 657b83 839496 6c71c4 93a1a1 fdf6e3',
};

function wear(name: string): readonly string[] {
  const colours = themes[name]?.split(' ').map((colour) => `#${colour}`) ?? [];
  const names = ['editor-background', 'terminal-foreground', ...PALETTE.map((one) => `terminal-ansi${one}`)];
  for (const [at, one] of names.entries()) document.documentElement.style.setProperty(`--vscode-${one}`, colours[at] ?? '');
  document.body.dataset.vscodeThemeId = name;
  return colours;
}

const partsOf = (colour: string) =>
  colour.startsWith('#') ? [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)) : (colour.match(/\d+/g) ?? []).map(Number);

function contrast(...colours: readonly [string, string]): number {
  const light = colours.map((colour) => {
    const [red = 0, green = 0, blue = 0] = partsOf(colour).map((part) =>
      part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  });
  return (Math.max(...light) + 0.05) / (Math.min(...light) + 0.05);
}

const ESC = '\u001b[';
/** A line for each code: the sixteen colours, the 256, any other, dim ones, and the same behind the text. */
const codes = [
  ...Array.from({ length: 8 }, (_, at) => [`${30 + at}`, `${90 + at}`, `2;${30 + at}`, `${40 + at}`, `7;${100 + at}`]).flat(),
  ...Array.from({ length: 86 }, (_, at) => [`38;5;${at * 3}`, `48;5;${at * 3}`]).flat(),
  ...['38;2;1;2;3', '38;2;250;251;252', '38;2;119;119;119', '2', '7', '31;41', '37;107', '30;40', '97;47'],
];
const output = codes.map((code) => `${ESC}${code}mword ${code}${ESC}0m`).join('\n');
const done = callPart({
  kind: 'execute',
  name: 'Shell',
  status: 'failed',
  input: { command: 'paint' },
  output: [{ kind: 'content', content: { type: 'text', text: output } }],
});

test('every colour of a terminal can be read on its ground, in every theme, also after another theme was chosen', async () => {
  wear('Dark Modern');
  const stage = await Stage.open(session({ turns: [turn({ parts: [done] })] }));
  stage.find<HTMLButtonElement>('.terminal .more').click();
  await stage.settle();
  for (const name of Object.keys(themes)) {
    const [page = ''] = wear(name);
    const runs = () =>
      stage.all('.terminal-output span').map(({ style, textContent }) => ({
        textContent,
        ratio: contrast(style.color, style.background || page),
      }));
    for (let frames = 0; frames < 200 && runs().some(({ ratio }) => ratio < 4.5); frames += 1) await stage.settle();
    assert.equal(runs().length, codes.length);
    assert.deepEqual(
      runs().filter(({ ratio }) => ratio < 4.5),
      [],
      name,
    );
  }
});

test('a colour that can be read stays the one of the theme, and one that cannot keeps its tone', async () => {
  const colours = wear('High Contrast');
  const stage = await Stage.open(session({ turns: [turn({ parts: [done] })] }));
  stage.find<HTMLButtonElement>('.terminal .more').click();
  await stage.settle();
  const colour = (code: string) =>
    partsOf(stage.all('.terminal-output span').find(({ textContent }) => textContent === `word ${code}`)?.style.color ?? '');
  assert.deepEqual(colour('32'), partsOf(colours[4] ?? ''));
  const [red = 0, green = 0, blue = 0] = colour('34');
  assert.ok(blue > red && blue > green, 'blue stays blue');
});
