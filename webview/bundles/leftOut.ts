/** Stands for libraries of mermaid that few diagrams need and that weigh more than all others: those diagrams stay text. */
// biome-ignore lint/style/noDefaultExport: it is what stands in for
export default function leftOut(): never {
  throw new Error('This kind of diagram is not drawn here.');
}
