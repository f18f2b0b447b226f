import path from 'node:path';
import { localize } from '../locale.ts';
import type { Endpoint, Sampling } from './endpoint.ts';
import { guideModel } from './guide/guideModel.ts';
import { type Model, ModelError } from './model.ts';

const DEFAULT_CONTEXT = 128_000;

/** Returns the model that the environment names, else the offline guide. An incompletely configured model only reports the problem. */
export function chooseModel(env: NodeJS.ProcessEnv, sampling?: Sampling): Model {
  const baseUrl = env.PARLEY_MODEL_BASE_URL?.trim() ?? '';
  const name = env.PARLEY_MODEL_NAME?.trim() ?? '';
  if (baseUrl === '' && name === '') return guideModel;
  if (baseUrl === '') return noModel(name, 'PARLEY_MODEL_BASE_URL', 'parley.model.baseUrl');
  if (name === '') return noModel(baseUrl, 'PARLEY_MODEL_NAME', 'parley.model.name');
  const context = Number(env.PARLEY_MODEL_CONTEXT);
  const apiKey = env.PARLEY_MODEL_API_KEY?.trim() ?? '';
  return lazyModel({
    baseUrl,
    name,
    contextSize: context >= 1000 ? Math.floor(context) : DEFAULT_CONTEXT,
    ...(apiKey === '' ? {} : { apiKey }),
    ...(sampling ? { sampling } : {}),
  });
}

function noModel(given: string, variable: string, setting: string): Model {
  const message = localize(
    `No model is configured: ${given} is given, but ${variable} is missing (the setting ${setting}).`,
    `未配置模型：已给出 ${given}，但缺少 ${variable}（设置项 ${setting}）。`,
  );
  return {
    name: '',
    contextSize: DEFAULT_CONTEXT,
    offline: false,
    // biome-ignore lint/correctness/useYield: there is no answer
    answer: async function* () {
      throw new ModelError('no_model', message);
    },
  };
}

/**
 * The SDK is a bundle of its own beside this one, loaded with the first answer: reading it takes longer than everything else at the start, and
 * the handshake must not wait for it.
 */
function lazyModel(endpoint: Endpoint): Model {
  return {
    name: endpoint.name,
    contextSize: endpoint.contextSize,
    offline: false,
    answer: async function* (request, signal) {
      const sdk: typeof import('./openaiCompatible.ts') = require(path.join(__dirname, 'parley-agent-model.js'));
      yield* sdk.answerFrom(endpoint, request, signal);
    },
  };
}
