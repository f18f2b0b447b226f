/** Settings with one agent, an AI SDK server at that address of this computer. */
export function settingsFor(url: string) {
  return { 'parley.agents': [{ id: 'server', name: 'Server', protocol: 'ai-sdk', url }] };
}
