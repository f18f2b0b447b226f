/** Where a model is served. `contextSize` in tokens. */
export interface Endpoint {
  readonly baseUrl: string;
  readonly name: string;
  readonly apiKey?: string;
  readonly contextSize: number;
}
