import { Window } from 'happy-dom';

/** A document for the tests of this process. Import this before anything of the view: its libraries look for one as they load. */
export const window = new Window({ url: 'https://view.test/', width: 400, height: 800 });
const { document } = window;

const names = [
  'document',
  'navigator',
  'Node',
  'Element',
  'HTMLElement',
  'SVGElement',
  'Text',
  'Comment',
  'DocumentFragment',
  'ShadowRoot',
  'CustomEvent',
  'Event',
  'KeyboardEvent',
  'MouseEvent',
  'InputEvent',
  'MessageEvent',
  'DOMParser',
  'NodeFilter',
  'NamedNodeMap',
  'MutationObserver',
  'HTMLTemplateElement',
  'HTMLFormElement',
  'customElements',
  'CSS',
  'CSSStyleSheet',
  'requestAnimationFrame',
  'cancelAnimationFrame',
] as const;
for (const name of names)
  Object.defineProperty(globalThis, name, {
    value: (window as unknown as Record<string, unknown>)[name],
    configurable: true,
    writable: true,
  });
Object.defineProperty(globalThis, 'window', { value: window, configurable: true });

// DOMPurify asks the getter of Node itself, which here knows no names.
Object.defineProperty(window.Node.prototype, 'nodeName', {
  configurable: true,
  get(this: { nodeType: number; tagName?: string }) {
    return this.tagName ?? { 3: '#text', 8: '#comment', 9: '#document', 11: '#document-fragment' }[this.nodeType] ?? '';
  },
});

/** Lets the next frame be drawn. */
export function frame(): Promise<void> {
  return new Promise((resolve) => void window.requestAnimationFrame(() => resolve()));
}

/** Empties the page. */
export function clear(): void {
  document.body.replaceChildren();
}

// A clock on the page keeps no test running.
const realInterval = globalThis.setInterval;
Object.defineProperty(globalThis, 'setInterval', {
  configurable: true,
  writable: true,
  value: (...args: Parameters<typeof setInterval>) => {
    const timer = realInterval(...args);
    timer.unref();
    return timer;
  },
});
