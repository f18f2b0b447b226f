/** What one test of the extension host came to. */
export interface HostResult {
  readonly name: string;
  readonly ok: boolean;
  readonly detail?: string;
}
