import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import type { Workbench } from './install.ts';

/** A headless Chromium: $CHROMIUM, or the one beside the server of the `current` workbench with its own libraries and fonts. */
export function openBrowser(current: Workbench): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-dev-shm-usage'];
  const system = process.env.CHROMIUM;
  if (system) return chromium.launch({ executablePath: system, args });
  const own = path.join(current, 'browser');
  const executablePath = path.join(own, 'chromium');
  if (!existsSync(executablePath)) throw new Error(`there is no browser at ${executablePath}; set $CHROMIUM`);
  const libraries = [path.join(own, 'lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(path.delimiter);
  const env = { ...process.env, LD_LIBRARY_PATH: libraries, FONTCONFIG_FILE: path.join(own, 'fonts.conf') };
  return chromium.launch({ executablePath, env, args });
}
