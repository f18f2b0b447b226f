import mermaid from 'mermaid';

let drawn = 0;

/** A diagram as SVG with a style element of its own. Rejects when the text is not a diagram. Links and scripts in it are left out by mermaid itself. */
export async function diagram(text: string, dark: boolean): Promise<string> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    suppressErrorRendering: true,
    theme: dark ? 'dark' : 'default',
    maxTextSize: 20_000,
    maxEdges: 300,
    layout: 'dagre',
    htmlLabels: false,
    flowchart: { htmlLabels: false, useMaxWidth: true },
    fontFamily: 'inherit',
  });
  drawn += 1;
  const { svg } = await mermaid.render(`diagram${drawn}`, text);
  return svg;
}
