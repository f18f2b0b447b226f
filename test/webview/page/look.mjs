// Looks at the built view: npm run build:webview && PARLEY_WORKBENCH=<folder> node test/webview/page/look.mjs [folder for pictures] [WIDTHxHEIGHT ...]
import path from 'node:path';
import { load, prepare } from '../../bootstrap.mjs';

prepare();
const { openBrowser } = await load('test/workbench/browser.ts');
const { look } = await load('test/webview/page/look.ts');
const browser = await openBrowser(process.env.PARLEY_WORKBENCH ?? path.resolve('.workbench/current'));
const sizes = process.argv.slice(3).map((size) => size.split('x').map(Number));
try {
  const wrong = await look(browser, process.argv[2] ?? 'out/look', ...(sizes.length > 0 ? [sizes] : []));
  for (const problem of wrong) console.log(problem);
  console.log(wrong.length === 0 ? 'nothing wrong' : `${wrong.length} wrong`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
} finally {
  await browser.close();
}
