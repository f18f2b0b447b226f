import { fileNamed } from '../files.ts';
import { hitRows, hitsOf } from '../hits.ts';
import { call, type GuideContext, type Request, type Script, sorry } from '../script.ts';

const FORMS: readonly RegExp[] = [
  /^(?:replace|change|substitute|rename)(?<all> all| every)?(?: the)?(?: text| word)? (?<a>.+?) (?:with|by|to|into|->|→|=>) (?<b>.+?)(?: (?:in|inside|within) (?:the )?(?:file )?(?<f>\S+?))?(?<every> everywhere)?$/i,
  /^in (?:the )?(?:file )?(?<f>\S+?),? (?:replace|change|substitute|rename)(?<all> all| every)?(?: the)?(?: text| word)? (?<a>.+?) (?:with|by|to|into|->|→|=>) (?<b>.+?)(?<every> everywhere)?$/i,
  /^(?:把|将)\s*(?<f>[\w@./\\-]+|\u27e6\d+\u27e7)\s*(?:这个文件|文件)?\s*(?:里面?|中|内)\s*的?\s*(?<all>所有|全部|每个)?的?\s*(?<a>.+?)\s*(?<every>全部|都)?\s*(?:替换(?:成|为)|换成|改(?:成|为)|变成)\s*(?<b>.+)$/,
  /^在\s*(?<f>[\w@./\\-]+|\u27e6\d+\u27e7)\s*(?:里面?|中|内)\s*[,，]?\s*(?:把|将)\s*(?<all>所有|全部|每个)?的?\s*(?<a>.+?)\s*(?<every>全部|都)?\s*(?:替换(?:成|为)|换成|改(?:成|为)|变成)\s*(?<b>.+)$/,
  /^(?:把|将)\s*(?<all>所有|全部|每个)?的?\s*(?<a>.+?)\s*(?<every>全部|都)?\s*(?:替换(?:成|为)|换成|改(?:成|为)|变成)\s*(?<b>.+)$/,
];

export const replaceRequest: Request = {
  match: (asked, scene) => {
    for (const form of FORMS) {
      const { a, b, f, all, every } = form.exec(asked.masked)?.groups ?? {};
      if (a === undefined || b === undefined) continue;
      const everywhere = all !== undefined || every !== undefined;
      return replace(scene, asked.plain(a), asked.plain(b), f === undefined ? undefined : asked.plain(f), everywhere);
    }
    return undefined;
  },
};

function* replace(scene: GuideContext, old: string, next: string, file: string | undefined, everywhere: boolean): Script {
  const { say } = scene;
  let path = file;
  if (path === undefined) {
    const hits = hitsOf(yield* call('Grep', { pattern: old, literal: true, max_results: 100 }));
    const files = [...new Set(hits.map((hit) => hit.path))];
    const [only] = files;
    if (only === undefined) return say(`\`${old}\` does not occur in this workspace.`, `这个工作区里没有 \`${old}\`。`);
    if (files.length > 1) {
      return say(
        `\`${old}\` occurs in ${files.length} files. Say in which: replace "${old}" with "${next}" in FILE\n\n${hitRows(hits, say)}`,
        `\`${old}\` 出现在 ${files.length} 个文件里。请说明是哪个文件：把 文件名 里的“${old}”替换成“${next}”\n\n${hitRows(hits, say)}`,
      );
    }
    path = only;
  } else {
    const found = yield* fileNamed(scene, path);
    if ('problem' in found) return found.problem;
    path = found.path;
  }
  const hits = hitsOf(yield* call('Grep', { pattern: old, literal: true, path, max_results: 100 }));
  if (hits.length === 0 && !old.includes('\n')) {
    const near = hitsOf(yield* call('Grep', { pattern: old, literal: true, ignore_case: true, path, max_results: 5 }));
    const nothing = say(
      `\`${old}\` does not occur in \`${path}\`, so nothing was changed.`,
      `\`${path}\` 里没有 \`${old}\`，未做任何更改。`,
    );
    return near.length === 0 ? nothing : `${nothing} ${say('Written differently:', '写法不同的有：')}\n\n${hitRows(near, say)}`;
  }
  const edit = { old, new: next, ...(everywhere ? { replace_all: true } : {}) };
  const result = yield* call('StrReplaceFile', { path, edit });
  if (!result.isError)
    return `${say(`Done: \`${old}\` → \`${next}\` in \`${path}\`. ${result.message}`, `完成：\`${path}\` 中 \`${old}\` → \`${next}\`。`)}`;
  if (!result.rejected && / occurs \d+ times /.test(result.message)) {
    return say(
      `\`${old}\` occurs several times in \`${path}\`; nothing was changed. Say “replace all "${old}" with "${next}" in ${path}”, or give more of the text around the one you mean.\n\n${hitRows(hits, say)}`,
      `\`${path}\` 里有多处 \`${old}\`，未做任何更改。可以说“把 ${path} 里的所有“${old}”替换成“${next}””，或给出更多上下文。\n\n${hitRows(hits, say)}`,
    );
  }
  return sorry(result, say);
}
