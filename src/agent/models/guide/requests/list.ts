import { fileNamed } from '../files.ts';
import { call, type GuideContext, linesOf, type Request, type Script, sorry } from '../script.ts';

const FORMS: readonly RegExp[] = [
  /^(?:list|ls|dir|show)(?: me)?(?: all)?(?: the)?(?: files| folders| entries| contents?| tree| structure)+(?: (?:in|of|under|inside|from) (?:the )?(?<f>\S+)(?: (?:folder|directory))?)?$/i,
  /^(?:list|ls|dir)(?: (?<f>\S+))?$/i,
  /^what(?:'s|’s| is| files are| do we have) (?:in|inside|under) (?:the )?(?<f>\S+?)(?: (?:folder|directory))?$/i,
  /^(?:列出|显示|查看|看看|看一下)\s*(?<f>[^\s的里下中]+?)?\s*(?:目录|文件夹)?(?:下面|里面|下|里|中|内)?的?(?:所有|全部)?(?:文件|目录|内容|结构)(?:列表)?$/,
  /^(?<f>\S+?)\s*(?:目录|文件夹)?(?:下面|里面|下|里|中)有(?:什么|哪些)(?:文件|东西|内容)?$/,
  /^有(?:什么|哪些)文件$/,
];

export const listRequest: Request = {
  match: (asked, scene) => {
    for (const form of FORMS) {
      const match = form.exec(asked.masked);
      if (match) return list(scene, asked.plain(folderOf(match.groups?.f)));
    }
    return undefined;
  },
};

/** Words that mean the workspace itself. */
function folderOf(given: string | undefined): string {
  return given === undefined ||
    /^(?:here|this|(?:this |the )?(?:workspace|project|repo)|root|it|(?:这个|这|此|本|当前|整个)?(?:工作区|项目|目录|文件夹|仓库)|当前|这里|根目录|此)$/i.test(
      given,
    )
    ? '.'
    : given;
}

function* list(scene: GuideContext, folder: string): Script {
  const found = yield* fileNamed(scene, folder);
  return 'problem' in found ? found.problem : yield* listFolder(scene, found.path);
}

/** The entries of a folder that is there. */
export function* listFolder(scene: GuideContext, path: string): Script {
  const { say } = scene;
  const result = yield* call('ListDirectory', path === '.' ? {} : { path });
  if (result.isError) return sorry(result, say);
  const lines = linesOf(result);
  const place = path === '.' ? say('this workspace', '这个工作区') : say(`\`${path}\``, ` \`${path}\` `);
  if (lines.length === 0) return say(`${place} is empty.`, `${place}是空的。`.trim());
  const rows = lines.map((line) => {
    const [name = '', size] = line.split('  ');
    return size === undefined ? `- \`${name}\`` : `- \`${name}\` (${size} B)`;
  });
  return `${say(`In ${place}:`, `${place}里有：`.trim())}\n\n${rows.join('\n')}`;
}
