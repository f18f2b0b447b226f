/** Where a model is served. `contextSize` in tokens. */
export interface Endpoint {
  readonly baseUrl: string;
  readonly name: string;
  readonly apiKey?: string;
  readonly contextSize: number;
  readonly sampling?: Sampling;
}

/** How the service is to choose its words; what is left out is the service's own choice. */
export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly maxOutputTokens?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly seed?: number;
  readonly stopSequences?: string[];
}
