import { fileNamed, last, nearTo } from '../files.ts';
import { definitionPattern, hitRows, hitsOf } from '../hits.ts';
import { count } from '../language.ts';
import { call, type GuideContext, linesOf, type Request, type Script, sorry } from '../script.ts';

const FIND: readonly RegExp[] = [
  /^(?:find|search|grep|look)(?: for)?(?: all)?(?: the)?(?: (?:text|word|string|occurrences of|places (?:with|where|that use)|uses of))? (?<x>.+?)(?: (?:in|inside|under) (?:the )?(?<f>\S+?)(?: (?:folder|directory|file))?)?$/i,
  /^在\s*(?<f>\S+?)\s*(?:目录|文件|文件夹)?(?:里面?|中|下)?\s*(?:查找|搜索|寻找|找)\s*(?<x>.+)$/,
  /^(?:查找|搜索|寻找|查一?下|搜一?下|找一?下|找|搜)\s*(?:所有|全部)?(?:文字|文本)?\s*(?<x>.+?)$/,
  /^哪里(?:有|出现|用到)(?:了)?\s*(?<x>.+)$/,
];
const FILE =
  /^(?:find|search for|locate|look for)(?: the| all)? files? (?:named |called |with the name )?(?<x>\S+)$|^(?:查找|搜索|找)\s*(?:名为|叫)?\s*(?<y>\S+?)\s*的?文件$|^(?:查找|搜索|找)\s*文件\s*(?<z>\S+)$/i;

export const findRequest: Request = {
  match: (asked, scene) => {
    const file = FILE.exec(asked.masked)?.groups;
    const name = file?.x ?? file?.y ?? file?.z;
    if (name !== undefined) return findFile(scene, asked.plain(name));
    for (const form of FIND) {
      const { x, f } = form.exec(asked.masked)?.groups ?? {};
      if (x !== undefined) return find(scene, asked.plain(x), isHere(f) ? undefined : asked.plain(f ?? ''));
    }
    return undefined;
  },
};

const WHERE: readonly RegExp[] = [
  /^where(?:'s|’s| is| are| can i find) (?:the )?(?:file |function |class |symbol )?(?<x>.+?)(?: (?:defined|declared|implemented|located|set))?$/i,
  /^(?<x>.+?)\s*(?:是)?(?:在|定义在|实现在|位于)\s*(?:哪里?|什么地方|哪个文件)(?:里|中)?(?:定义|声明|实现)?(?:的)?$/,
];

/** Where something stands: a file by its name, else a definition, else the places it is mentioned. */
export const whereRequest: Request = {
  match: (asked, scene) => {
    for (const form of WHERE) {
      const x = form.exec(asked.masked)?.groups?.x;
      if (x !== undefined && !/\bused\b/.test(x)) return where(scene, asked.plain(x));
    }
    return undefined;
  },
};

function isHere(place: string | undefined): boolean {
  return place === undefined || /^(?:workspace|project|repo|repository|here|this|code|codebase|files|工作区|项目|代码|这里)$/i.test(place);
}

function* find(scene: GuideContext, what: string, place: string | undefined): Script {
  const { say } = scene;
  let path = '.';
  if (place !== undefined) {
    const found = yield* fileNamed(scene, place);
    if ('problem' in found) return found.problem;
    path = found.path;
  }
  const result = yield* call('Grep', {
    pattern: what,
    literal: true,
    ignore_case: what === what.toLowerCase(),
    ...(path === '.' ? {} : { path }),
    max_results: 100,
  });
  if (result.isError) return sorry(result, say);
  const hits = hitsOf(result);
  const names = path === '.' ? linesOf(yield* call('Glob', { pattern: `**/*${globText(what)}*` })) : [];
  if (hits.length === 0 && names.length === 0)
    return say(
      `\`${what}\` does not occur in ${path === '.' ? 'this workspace' : `\`${path}\``}.`,
      `在${path === '.' ? '这个工作区' : ` \`${path}\` `}里没有找到 \`${what}\`。`,
    );
  const files = new Set(hits.map((hit) => hit.path)).size;
  const parts: string[] = [];
  if (hits.length > 0)
    parts.push(
      `${say(`\`${what}\` occurs ${result.message.includes('more') ? 'more than ' : ''}${count(hits.length, 'time')} in ${count(files, 'file')}:`, `\`${what}\` 在 ${files} 个文件里出现了 ${hits.length} 次：`)}\n\n${hitRows(hits, say)}`,
    );
  if (names.length > 0)
    parts.push(
      `${say('Files of that name:', '同名文件：')}\n\n${names
        .slice(0, 10)
        .map((name) => `- \`${name}\``)
        .join('\n')}`,
    );
  return parts.join('\n\n');
}

function* findFile(scene: GuideContext, name: string): Script {
  const { say } = scene;
  const pattern = /[*?]/.test(name) ? name : `**/*${globText(name)}*`;
  const found = linesOf(yield* call('Glob', { pattern }));
  if (found.length > 0)
    return `${say(`${count(found.length, 'file')}:`, `找到 ${found.length} 个文件：`)}\n\n${found
      .slice(0, 30)
      .map((path) => `- \`${path}\``)
      .join('\n')}`;
  const near = nearTo(name, linesOf(yield* call('Glob', { pattern: '**/*' })));
  const none = say(`There is no file like \`${name}\`.`, `没有名为 \`${name}\` 的文件。`);
  return near.length === 0
    ? none
    : `${none} ${say('Names that come near:', '相近的名字：')}\n\n${near.map((path) => `- \`${path}\``).join('\n')}`;
}

function* where(scene: GuideContext, what: string): Script {
  const { say } = scene;
  const files = linesOf(yield* call('Glob', { pattern: `**/{${globText(what)},${globText(what)}.*}` }));
  const parts: string[] = [];
  if (files.length > 0)
    parts.push(
      `${say('File:', '文件：')}\n\n${files
        .slice(0, 10)
        .map((path) => `- \`${path}\``)
        .join('\n')}`,
    );
  if (/^[\w$.]+$/.test(what)) {
    const defined = hitsOf(yield* call('Grep', { pattern: definitionPattern(last(what)), max_results: 20 }));
    if (defined.length > 0) parts.push(`${say(`\`${what}\` is defined here:`, `\`${what}\` 定义在：`)}\n\n${hitRows(defined, say)}`);
  }
  if (parts.length > 0) return parts.join('\n\n');
  const result = yield* call('Grep', { pattern: what, literal: true, ignore_case: true, max_results: 50 });
  if (result.isError) return sorry(result, say);
  const hits = hitsOf(result);
  if (hits.length === 0)
    return say(
      `I found neither a file nor a text \`${what}\` in this workspace.`,
      `在这个工作区里既没有找到名为 \`${what}\` 的文件，也没有这样的文字。`,
    );
  return `${say(`No definition of \`${what}\`, but it is mentioned here:`, `没有找到 \`${what}\` 的定义，但这些地方提到了它：`)}\n\n${hitRows(hits, say)}`;
}

function globText(text: string): string {
  return text.replace(/[*?[\]{}()!+@,\\]/g, '\\$&');
}
