import type { ModelLine } from '../bridge/contract.ts';
import { listModels } from './models.ts';

/** A widely used OpenAI-compatible endpoint. */
export interface KnownEndpoint {
  readonly name: string;
  readonly baseUrl: string;
  readonly needsKey: boolean;
}

/** Milliseconds that a server on this computer has to answer. */
const PROBE_LIMIT = 1500;

const LOCAL: readonly KnownEndpoint[] = [
  { name: 'Ollama', baseUrl: 'http://localhost:11434/v1', needsKey: false },
  { name: 'LM Studio', baseUrl: 'http://localhost:1234/v1', needsKey: false },
  { name: 'llama.cpp', baseUrl: 'http://localhost:8080/v1', needsKey: false },
  { name: 'vLLM', baseUrl: 'http://localhost:8000/v1', needsKey: false },
];

/** Known endpoints, those on this computer first. In China two services have addresses of their own. */
export function endpoints(language: string): readonly KnownEndpoint[] {
  const isChina = /^zh-(?:cn|hans)/i.test(language);
  const hosted: Readonly<Record<string, string>> = {
    OpenRouter: 'https://openrouter.ai/api/v1',
    Anthropic: 'https://api.anthropic.com/v1',
    OpenAI: 'https://api.openai.com/v1',
    'Google Gemini': 'https://generativelanguage.googleapis.com/v1beta/openai',
    DeepSeek: 'https://api.deepseek.com/v1',
    Moonshot: isChina ? 'https://api.moonshot.cn/v1' : 'https://api.moonshot.ai/v1',
    Qwen: `https://${isChina ? 'dashscope' : 'dashscope-intl'}.aliyuncs.com/compatible-mode/v1`,
  };
  return [...LOCAL, ...Object.entries(hosted).map(([name, baseUrl]) => ({ name, baseUrl, needsKey: true }))];
}

/** The known endpoint with this address, if there is one. */
export function endpointAt(baseUrl: unknown, language: string): KnownEndpoint | undefined {
  return endpoints(language).find((one) => one.baseUrl === baseUrl);
}

/** The models of a server on this computer; undefined when none responds. */
export async function runningEndpoint({ baseUrl }: KnownEndpoint): Promise<readonly ModelLine[] | undefined> {
  return listModels(baseUrl, undefined, PROBE_LIMIT).catch(() => undefined);
}

/** The servers that run on this computer, with their models. */
export async function runningEndpoints(): Promise<readonly { readonly endpoint: KnownEndpoint; readonly models: number }[]> {
  const found = await Promise.all(LOCAL.map(async (endpoint) => ({ endpoint, models: (await runningEndpoint(endpoint))?.length })));
  return found.flatMap(({ endpoint, models }) => (models === undefined ? [] : [{ endpoint, models }]));
}
