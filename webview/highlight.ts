import type { LanguageFn } from 'highlight.js';
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import graphql from 'highlight.js/lib/languages/graphql';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import lua from 'highlight.js/lib/languages/lua';
import makefile from 'highlight.js/lib/languages/makefile';
import php from 'highlight.js/lib/languages/php';
import powershell from 'highlight.js/lib/languages/powershell';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import scss from 'highlight.js/lib/languages/scss';
import shell from 'highlight.js/lib/languages/shell';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';

const languages: Readonly<Record<string, LanguageFn>> = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  graphql,
  ini,
  java,
  javascript,
  json,
  kotlin,
  lua,
  makefile,
  php,
  powershell,
  python,
  ruby,
  rust,
  scss,
  shell,
  sql,
  swift,
  typescript,
  xml,
  yaml,
};
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

/** Longer code stays plain. */
const LONGEST = 60_000;

interface Job {
  readonly code: HTMLElement;
  readonly text: string;
  readonly language: string;
}
const jobs: Job[] = [];

/** Colours a finished piece of code when the view has nothing else to do. Unknown languages stay plain. */
export function highlightLater(code: HTMLElement, text: string, language: string): void {
  if (text.length > LONGEST || !hljs.getLanguage(language)) return;
  jobs.push({ code, text, language });
  if (jobs.length === 1) whenIdle(work);
}

function work(deadline?: IdleDeadline): void {
  do {
    const job = jobs.shift();
    if (job?.code.isConnected) colour(job);
  } while (jobs.length > 0 && deadline && deadline.timeRemaining() > 4);
  if (jobs.length > 0) whenIdle(work);
}

function colour(job: Job): void {
  const { value } = hljs.highlight(job.text, { language: job.language, ignoreIllegals: true });
  const holder = document.createElement('template');
  holder.innerHTML = value;
  job.code.replaceChildren(holder.content);
}

function whenIdle(run: (deadline?: IdleDeadline) => void): void {
  if (typeof requestIdleCallback === 'function') requestIdleCallback(run, { timeout: 1000 });
  else setTimeout(run, 0);
}
