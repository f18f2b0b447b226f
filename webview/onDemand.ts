/** Bundles beside the view's own. Each is a script that is loaded at its first use and publishes its exports on the page. */
export interface Bundles {
  readonly math: Pick<typeof import('./bundles/math.ts'), 'math'>;
}
type Provided = { [B in keyof Bundles]?: Bundles[B] };

/** A third-party script that sets its own global name. */
type ScriptName = keyof Bundles | 'mermaid';

/** The registry through which the scripts find each other: each sets its own member, and this file reads it. */
const page = globalThis as typeof globalThis & { parleyBundles?: Provided };
// Available only while the view's own script runs for the first time.
const own = document.currentScript;
const [address, nonce] = own && 'src' in own ? [own.src, own.nonce ?? ''] : ['', ''];
const asked = new Map<ScriptName, Promise<void>>();

/** The exports of a bundle; undefined when it is not loaded yet. */
export function loaded<B extends keyof Bundles>(name: B): Bundles[B] | undefined {
  return page.parleyBundles?.[name];
}

/** Loads a script once. Settles when it is available; rejects when it cannot be loaded. */
export function onDemand(name: ScriptName): Promise<void> {
  const under = asked.get(name) ?? (page.parleyBundles && name in page.parleyBundles ? Promise.resolve() : load(name));
  asked.set(name, under);
  return under;
}

function load(name: string): Promise<void> {
  if (address === '') return Promise.reject(new Error(`no ${name} here`));
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.nonce = nonce;
    script.src = address.replace(/[^/]*$/, `${name}.js`);
    script.onload = () => resolve();
    script.onerror = () => reject(new Error(`${name} could not be loaded`));
    document.head.append(script);
  });
}

/** Publishes the exports of a bundle; called by its entry. */
export function provide(parts: Provided): void {
  page.parleyBundles = { ...page.parleyBundles, ...parts };
}
