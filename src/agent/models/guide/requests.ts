import type { Asked } from './language.ts';
import { createRequest } from './requests/create.ts';
import { definitionRequest, diagnosticsRequest, editorsRequest, openRequest, referencesRequest } from './requests/editor.ts';
import { explainRequest } from './requests/explain.ts';
import { findRequest, whereRequest } from './requests/find.ts';
import { connectRequest, helpRequest, notUnderstood, whoRequest } from './requests/help.ts';
import { listRequest } from './requests/list.ts';
import { planRequest } from './requests/plan.ts';
import { readRequest } from './requests/read.ts';
import { replaceRequest } from './requests/replace.ts';
import { changesRequest, runRequest } from './requests/run.ts';
import type { GuideContext, Request, Script } from './script.ts';

/** Everything the guide understands, the particular before the general. */
const simple: readonly Request[] = [
  helpRequest,
  whoRequest,
  connectRequest,
  createRequest,
  replaceRequest,
  runRequest,
  changesRequest,
  definitionRequest,
  referencesRequest,
  diagnosticsRequest,
  editorsRequest,
  listRequest,
  whereRequest,
  openRequest,
  readRequest,
  explainRequest,
  findRequest,
];

/** Longer than any request, without what is in quotes; a match over more of it could take long. */
const LONGEST = 1000;

/** The script for a request; one for what is not understood as the last resort. */
export function requests(asked: Asked, scene: GuideContext): Script {
  if (asked.masked.length > LONGEST) return notUnderstood(asked, scene);
  return planRequest(understood).match(asked, scene) ?? understood(asked, scene) ?? notUnderstood(asked, scene);
}

function understood(asked: Asked, scene: GuideContext): Script | undefined {
  for (const request of simple) {
    const script = request.match(asked, scene);
    if (script) return script;
  }
  return undefined;
}
