import { html, type TemplateResult } from 'lit/html.js';

/** Outlines on a 16 × 16 grid, drawn with the text's colour. */
const shapes = {
  read: 'M3.5 2.5h6l3 3v8h-9zM9.5 2.5v3h3M5.5 8.5h5M5.5 11h5',
  edit: 'M3 13l.7-3.2 7-7a1.2 1.2 0 0 1 1.7 0l.8.8a1.2 1.2 0 0 1 0 1.7l-7 7zM9.5 4l2.5 2.5',
  delete: 'M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.6 9h5.8l.6-9M6.8 7v4M9.2 7v4',
  move: 'M2.5 8h10M9 4.5L12.5 8 9 11.5',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 1 0 0-9M10.3 10.3L13.5 13.5',
  execute: 'M2.5 3.5h11v9h-11zM4.8 6l2 2-2 2M8 10.2h3',
  think: 'M8 2.5a4 4 0 0 0-2.3 7.3V11.5h4.6V9.8A4 4 0 0 0 8 2.5M6.2 13.5h3.6',
  fetch: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M2.5 8h11M8 2.5c-3.5 3.5-3.5 7.5 0 11M8 2.5c3.5 3.5 3.5 7.5 0 11',
  other: 'M9.8 2.8a3.5 3.5 0 0 0-3.7 4.6L2.5 11v2.5H5l3.6-3.6a3.5 3.5 0 0 0 4.6-3.7L11 8.4 7.6 5z',
  copy: 'M5.5 5.5h7v8h-7zM3.5 10.5v-8h7',
  insert: 'M3 3.5h10M3 12.5h10M8 5v6M5.8 8.8L8 11l2.2-2.2',
  check: 'M3 8.5l3.2 3.2L13 5',
  cross: 'M4 4l8 8M12 4l-8 8',
  blocked: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M4.1 4.1l7.8 7.8',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M8 5v3.2l2.2 1.5',
  hand: 'M5 8.5V4.2a1 1 0 0 1 2 0V7.5M7 7V3.2a1 1 0 0 1 2 0V7M9 7.2V4a1 1 0 0 1 2 0v5c0 3-1.2 4.5-3.5 4.5-2 0-2.8-1-4.5-4 .8-1 1.5-.7 2 0',
  chevron: 'M6 3.5L10.5 8 6 12.5',
  down: 'M3.5 6L8 10.5 12.5 6',
  arrowDown: 'M8 2.5v10.5M4 9l4 4 4-4',
  plus: 'M8 3v10M3 8h10',
  send: 'M2.5 8L13.5 3 11 13.5 8 9.2zM8 9.2L13.5 3',
  stop: 'M4.5 4.5h7v7h-7z',
  steer: 'M3 3v4.5h9.5M9.5 4.5l3 3-3 3',
  clip: 'M11.5 7.5l-4 4a2.3 2.3 0 0 1-3.2-3.2l5-5a1.6 1.6 0 0 1 2.3 2.3l-4.8 4.8',
  link: 'M6.8 9.2l2.4-2.4M5.5 7.5L4 9a2.1 2.1 0 0 0 3 3l1.5-1.5M10.5 8.5L12 7a2.1 2.1 0 0 0-3-3L7.5 5.5',
  file: 'M3.5 2.5h6l3 3v8h-9zM9.5 2.5v3h3',
  pin: 'M6 2.5h4l-.5 4 2 2v1.5h-7V8.5l2-2zM8 10v4',
  openInEditor: 'M2.5 3.5h11v9h-11zM2.5 6h11M8 8.2h3v3M11 8.2l-4 3.6',
  folder: 'M2.5 4h4l1.2 1.5h5.8v7h-11z',
  symbol: 'M8 2.5l4.5 2.5v5.5L8 13.5 3.5 10.5V5zM3.5 5L8 7.8 12.5 5M8 7.8v5.7',
  selection: 'M5.5 3.5h-2v9h2M10.5 3.5h2v9h-2M8 5v6',
  undo: 'M5.5 3L3 5.5 5.5 8M3 5.5h6a3.5 3.5 0 0 1 0 7H6',
  diff: 'M8 2v8M4 6h8M4 13.5h8',
  warning: 'M8 2.5l6 10.5H2zM8 6.5v3M8 11v.6',
  info: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M8 7.5v3.5M8 5v.6',
  error: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M5.9 5.9l4.2 4.2M10.1 5.9l-4.2 4.2',
  agent: 'M3.5 5.5h9v7h-9zM8 3v2.5M6 8.2v1M10 8.2v1M2 8v2.5M14 8v2.5',
  list: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.5M2.5 8h.5M2.5 12h.5',
  more: 'M3.5 8h.5M7.8 8h.5M12 8h.5',
  step: 'M8 3a5 5 0 1 0 0 10 5 5 0 1 0 0-10',
  stepNow: 'M8 3a5 5 0 1 0 0 10 5 5 0 1 0 0-10M8 7a1 1 0 1 0 0 2 1 1 0 1 0 0-2',
  stepDone: 'M8 3a5 5 0 1 0 0 10 5 5 0 1 0 0-10M5.8 8.2l1.6 1.5 2.9-3.2',
  retry: 'M12.5 5A5.3 5.3 0 1 0 13.3 9M13 2v3.2H9.8',
  wrap: 'M2.5 4h11M2.5 8h9a2 2 0 0 1 0 4H8M9.5 10.5L8 12l1.5 1.5M2.5 12h2.5',
  text: 'M3 4h10M8 4v9M6.5 13h3',
  branch:
    'M5 3.2a1.3 1.3 0 1 0 0 2.6 1.3 1.3 0 1 0 0-2.6M5 10.2a1.3 1.3 0 1 0 0 2.6 1.3 1.3 0 1 0 0-2.6M11 3.2a1.3 1.3 0 1 0 0 2.6 1.3 1.3 0 1 0 0-2.6M5 5.8v4.4M11 5.8c0 2.4-3 2.6-6 3',
  note: 'M2.5 3h11v8H8l-3 2.5V11H2.5z',
  open: 'M9 3h4v4M13 3L7.5 8.5M11 9.5v3.5H3V5h3.5',
} as const;
export type IconName = keyof typeof shapes;

const SVG = 'http://www.w3.org/2000/svg';

/** An icon as an element, for code outside templates. Hidden from screen readers, as all icons are. */
export function icon(name: IconName): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', shapes[name]);
  svg.append(path);
  return svg;
}

export function iconOf(name: IconName): TemplateResult {
  return html`<svg class="icon icon-${name}" viewBox="0 0 16 16" aria-hidden="true"><path d=${shapes[name]}></path></svg>`;
}
