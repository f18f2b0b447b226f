import { languageOf } from '../files.ts';
import { call, fence, type GuideContext, linesOf, type Request, type Script, sorry } from '../script.ts';

const FORMS: readonly RegExp[] = [
  /^(?:create|make|add|write|new)(?: an?| the)?(?: new)?(?: empty)? file(?: called| named| at)? (?<f>\S+?)(?:[\s,:]+(?:with|containing|that (?:says|contains)|saying|and write)(?: the)?(?: contents?| text)?:? ?(?<c>[\s\S]+))?$/i,
  /^(?:create|make|write)(?: an?| the)?(?: new)?(?: empty)? (?<f>[\w@./\\-]+\.\w{1,10})(?:[\s,:]+(?:with|containing|that (?:says|contains)|saying)(?: the)?(?: contents?| text)?:? ?(?<c>[\s\S]+))?$/i,
  /^(?:write|put|save) (?<c>[\s\S]+?) (?:to|into|in|as) (?:the |a new )?(?:file )?(?<f>[\w@./\\-]+\.\w{1,10})$/i,
  /^(?:创建|新建|建立|添加|写)\s*(?:一?个)?(?:新的?)?(?:空的?)?文件\s*(?:名为|叫)?\s*(?<f>[^\s,，:：内写]+)(?:[\s,，]*(?:，)?\s*(?:内容(?:是|为)?|写入|写上|包含)\s*[:：]?\s*(?<c>[\s\S]+))?$/,
  /^(?:创建|新建|建立)\s*(?:一?个)?\s*(?<f>[\w@./\\-]+\.\w{1,10})(?:\s*文件)?(?:[\s,，]*(?:内容(?:是|为)?|写入|写上|包含)\s*[:：]?\s*(?<c>[\s\S]+))?$/,
  /^(?:把|将)\s*(?<c>\S[\s\S]*?)\s*(?:写入|写到|保存到|存到)\s*(?:文件)?\s*(?<f>[\w@./\\-]+)(?:里|中)?$/,
];

export const createRequest: Request = {
  match: (asked, scene) => {
    for (const form of FORMS) {
      const { f, c } = form.exec(asked.masked)?.groups ?? {};
      if (f !== undefined) return create(scene, asked.plain(f), c === undefined ? '' : asked.plain(c));
    }
    return undefined;
  },
};

function* create(scene: GuideContext, path: string, content: string): Script {
  const { say } = scene;
  const literal = path.replace(/^\.\//, '').replace(/[*?[\]{}()!+@]/g, '\\$&');
  if (
    !/^(?:\/|~|\.\.|[A-Za-z]:)/.test(path) &&
    linesOf(yield* call('Glob', { pattern: `./${literal}` })).includes(path.replace(/^\.\//, ''))
  ) {
    return say(
      `\`${path}\` exists already; I did not touch it. To change it say: replace "old" with "new" in ${path}`,
      `\`${path}\` 已经存在，我没有改动它。要修改请说：把 ${path} 里的“旧文字”替换成“新文字”`,
    );
  }
  const text = content === '' || content.endsWith('\n') ? content : `${content}\n`;
  const result = yield* call('WriteFile', { path, content: text });
  if (result.isError) return sorry(result, say);
  const shown = text === '' ? '' : `\n\n${fence(text, languageOf(path))}`;
  return `${say(`Created \`${path}\`${text === '' ? ', empty' : ''}.`, `已创建 \`${path}\`${text === '' ? '（空文件）' : ''}。`)}${shown}`;
}
