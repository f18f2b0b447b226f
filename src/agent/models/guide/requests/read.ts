import { fileNamed, languageOf, textOfRead } from '../files.ts';
import { call, fence, type GuideContext, type Request, type Script, sorry } from '../script.ts';
import { listFolder } from './list.ts';

const FORMS: readonly RegExp[] = [
  /^(?:read|show|cat|print|display|view)(?: me)?(?: (?:the )?(?:file|contents? of(?: the file)?))? (?<f>[^\s:]+)(?:(?::| (?:from )?lines? )(?<a>\d+)(?:\s*(?:-|to|–)\s*(?<b>\d+))?)?$/i,
  /^(?:read|show|print|display|view)(?: me)? lines? (?<a>\d+)(?:\s*(?:-|to|–)\s*(?<b>\d+))? (?:of|in|from) (?<f>\S+)$/i,
  /^(?:读取?|读一?下|查看|看看|显示|看一?下|打印)\s*(?:文件)?\s*(?<f>[^\s的]+?)(?:\s*的?\s*(?:第\s*)?(?<a>\d+)\s*(?:[-–到至~]\s*第?\s*(?<b>\d+))?\s*行|\s*的?(?:全部|所有)?内容)?$/,
];

export const readRequest: Request = {
  match: (asked, scene) => {
    for (const form of FORMS) {
      const { f, a, b } = form.exec(asked.masked)?.groups ?? {};
      if (f !== undefined)
        return read(scene, asked.plain(f), a === undefined ? undefined : Number(a), b === undefined ? undefined : Number(b));
    }
    return undefined;
  },
};

function* read(scene: GuideContext, name: string, from?: number, to?: number): Script {
  const { say } = scene;
  const found = yield* fileNamed(scene, name);
  if ('problem' in found) return found.problem;
  if (found.folder) return yield* listFolder(scene, found.path);
  const part = from === undefined ? {} : { line_offset: from, n_lines: Math.max(1, (to ?? from) - from + 1) };
  const result = yield* call('ReadFile', { path: found.path, ...part });
  if (result.isError) return sorry(result, say);
  const lines = textOfRead(result.text);
  if (lines.length === 0) return say(`\`${found.path}\` is empty.`, `\`${found.path}\` 是空文件。`);
  const most = 120;
  const rest = lines.length - most;
  const more =
    rest > 0
      ? say(
          `\n\n${rest} more lines: ask for “lines ${most + 1}-${lines.length} of ${found.path}”.`,
          `\n\n还有 ${rest} 行：可以说“查看 ${found.path} 第 ${most + 1} 到 ${lines.length} 行”。`,
        )
      : '';
  const [, first = '1', end = '', total = ''] = /Lines (\d+)-(\d+) of (\d+)/.exec(result.message) ?? [];
  const head = say(`lines ${first}-${end} of ${total}`, `第 ${first}-${end} 行，共 ${total} 行`);
  return `**${found.path}** (${head})\n\n${fence(lines.slice(0, most).join('\n'), languageOf(found.path))}${more}`;
}
