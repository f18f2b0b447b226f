import { ModelError, type ModelPiece, type ModelRequest } from './model.ts';

/** Where a model is served. `contextSize` in tokens. */
export interface Endpoint {
  readonly baseUrl: string;
  readonly name: string;
  readonly apiKey?: string;
  readonly contextSize: number;
}

export async function* answerFrom(endpoint: Endpoint, _request: ModelRequest, _signal: AbortSignal): AsyncGenerator<ModelPiece> {
  yield { type: 'text', text: '' };
  throw new ModelError('no_model', endpoint.name);
}
