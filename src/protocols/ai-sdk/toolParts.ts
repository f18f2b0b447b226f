import type { Chunk, ToolApproval, ToolPart, UiMessage, UiPart } from './schema.ts';

type Input = Extract<Chunk, { type: 'tool-input-start' | 'tool-input-available' | 'tool-input-error' }>;
type Outcome = Extract<Chunk, { type: 'tool-output-available' | 'tool-output-error' }>;

export function isTool(part: UiPart): part is ToolPart {
  return part.type === 'dynamic-tool' || part.type.startsWith('tool-');
}

/** A name may itself begin with "tool-": only the first one is taken off. */
export function toolNameOf(part: ToolPart): string {
  return part.type === 'dynamic-tool' ? (part.toolName ?? '') : part.type.slice('tool-'.length);
}

/** Nothing more comes for it. */
export function isTerminal(part: ToolPart): boolean {
  if (part.state === 'output-available') return part.preliminary !== true;
  return part.state === 'output-error' || part.state === 'output-denied';
}

export function stepStart(parts: readonly UiPart[]): number {
  return parts.findLastIndex((part) => part.type === 'step-start') + 1;
}

/** The newest call of that id, wherever in the message. */
export function findTool(message: UiMessage, toolCallId: string): ToolPart | undefined {
  return message.parts.findLast((part): part is ToolPart => isTool(part) && part.toolCallId === toolCallId);
}

export function newTool(chunk: Input): ToolPart {
  const part: ToolPart =
    chunk.dynamic === true
      ? { type: 'dynamic-tool', toolName: chunk.toolName, toolCallId: chunk.toolCallId, state: 'input-streaming' }
      : { type: `tool-${chunk.toolName}`, toolCallId: chunk.toolCallId, state: 'input-streaming' };
  describe(part, chunk);
  return part;
}

/** What a chunk about the input says besides the input. */
export function describe(part: ToolPart, chunk: Input): void {
  if (chunk.title != null) part.title = chunk.title;
  if (chunk.toolMetadata != null) part.toolMetadata = chunk.toolMetadata;
  if (chunk.providerExecuted != null) part.providerExecuted = chunk.providerExecuted;
  if (chunk.providerMetadata != null) part.callProviderMetadata = chunk.providerMetadata;
}

/** The input is whole: what was gathered of it is dropped. */
export function setInput(part: ToolPart, input: unknown): void {
  part.input = input;
  delete part.rawInput;
  delete part.inputEncoding;
}

export function setOutcome(part: ToolPart, chunk: Outcome): void {
  if (chunk.type === 'tool-output-available') {
    part.state = 'output-available';
    // It must be there: an output that is absent is not written at all.
    part.output = chunk.output ?? null;
    delete part.errorText;
    if (chunk.preliminary === true) part.preliminary = true;
    else delete part.preliminary;
  } else {
    setError(part, chunk.errorText);
  }
  if (chunk.toolMetadata != null) part.toolMetadata = chunk.toolMetadata;
  if (chunk.providerExecuted != null) part.providerExecuted = chunk.providerExecuted;
  if (chunk.providerMetadata != null) part.resultProviderMetadata = chunk.providerMetadata;
}

export function setOutput(part: ToolPart, output: unknown): void {
  part.state = 'output-available';
  part.output = output ?? null;
  delete part.errorText;
  delete part.preliminary;
}

export function setError(part: ToolPart, errorText: string): void {
  part.state = 'output-error';
  part.errorText = errorText;
  delete part.output;
  delete part.preliminary;
}

export function approvalOf(chunk: Extract<Chunk, { type: 'tool-approval-request' }>): ToolApproval {
  return {
    id: chunk.approvalId,
    ...(chunk.approvalDescriptor == null ? {} : { descriptor: chunk.approvalDescriptor }),
    ...(chunk.inputSchemaInput === undefined ? {} : { inputSchemaInput: chunk.inputSchemaInput }),
    ...(chunk.reason == null ? {} : { requestReason: chunk.reason }),
    ...(chunk.isAutomatic === true ? { isAutomatic: true } : {}),
    ...(chunk.signature == null ? {} : { signature: chunk.signature }),
  };
}
