import { t } from '../../base/l10n.ts';
import { isLoopback } from '../../transport/link.ts';
import { type A2aVersion, type Card, COMMAND_CONTEXT, card, isOurExtension } from './schema.ts';

/** An agent, as its card describes it (docs/protocols/a2a.md §4, §5). */
export interface A2aPeer {
  readonly name: string;
  readonly version?: string;
  /** The address for JSON-RPC. */
  readonly endpoint: string;
  readonly wire: A2aVersion;
  readonly tenant?: string;
  readonly streaming: boolean;
  readonly push: boolean;
  /** Its address, when both sides speak it. */
  readonly extension?: string;
  /** Commands take the id of their conversation. */
  readonly commandContext: boolean;
  readonly dialect: 'rfc' | 'gemini' | 'plain';
  /** Notes about the agent for the user, one sentence each. */
  readonly remarks: readonly string[];
  readonly schemes: NonNullable<Card['securitySchemes']>;
  /** Sets of schemes, any one of which lets in. */
  readonly security: NonNullable<Card['security']>;
}

/** The agent cannot be talked to; the message is for a user. */
export class UnfitAgent extends Error {}

/** `why` is a technical detail. */
export function noAgent(address: string, why: string): UnfitAgent {
  return new UnfitAgent(t('There is no A2A agent at {0} ({1}).', address, why));
}
function otherVersion(version: string): string {
  return t('The agent speaks version {0} of the protocol; Parley supports {1}.', `development-tool ${version}`, versionText(OURS));
}

/** Judges a card. `base` is the address it was fetched from. */
export function readCard(value: unknown, base: string, more: readonly string[] = []): A2aPeer {
  const parsed = card.safeParse(value);
  if (!parsed.success) throw noAgent(base, 'invalid card');
  const facts = parsed.data;
  const offered = (facts.capabilities?.extensions ?? []).filter((one) => isOurExtension(one.uri, more));
  const usable = offered.filter((one) => fits(versionIn(one.uri)));
  const unfit = offered.filter((one) => !fits(versionIn(one.uri)));
  const required = unfit.find((one) => one.required);
  const theirs = versionText(unfit[0] && versionIn(unfit[0].uri));
  if (usable.length === 0 && required) {
    throw new UnfitAgent(otherVersion(versionText(versionIn(required.uri))));
  }
  const foreign = (facts.capabilities?.extensions ?? []).find((one) => one.required && !isOurExtension(one.uri, more));
  if (foreign) throw new UnfitAgent(t('{0} requires {1}, which Parley does not support.', facts.name, foreign.uri));
  const extension = newest(usable.map((one) => one.uri));
  const gemini = extension === undefined && facts.name === 'Gemini SDLC Agent';
  const remarks: string[] = [];
  if (extension === undefined && unfit.length > 0) {
    remarks.push(otherVersion(theirs));
  }
  return {
    name: facts.name,
    ...(facts.version ? { version: facts.version } : {}),
    ...interfaceOf(facts, base),
    streaming: facts.capabilities?.streaming === true,
    push: facts.capabilities?.pushNotifications === true,
    ...(extension === undefined ? {} : { extension }),
    commandContext: usable.find((one) => one.uri === extension)?.params?.[COMMAND_CONTEXT] === true,
    dialect: extension === undefined ? (gemini ? 'gemini' : 'plain') : 'rfc',
    remarks,
    schemes: facts.securitySchemes ?? {},
    security: facts.security ?? facts.securityRequirements ?? [],
  };
}

function interfaceOf(facts: Card, base: string): Pick<A2aPeer, 'endpoint' | 'wire' | 'tenant'> {
  const offers = (facts.supportedInterfaces ?? []).filter((one) => one.protocolBinding.toUpperCase() === 'JSONRPC');
  const newer = offers.find((one) => /^1\./.test(one.protocolVersion ?? '1.0'));
  const older = offers.find((one) => /^0\.[23]/.test(one.protocolVersion ?? ''));
  const chosen = newer ?? older;
  if (chosen) {
    return { endpoint: endpointOf(chosen.url, base), wire: newer ? '1.0' : '0.3', ...(chosen.tenant ? { tenant: chosen.tenant } : {}) };
  }
  const direct = (facts.preferredTransport ?? 'JSONRPC').toUpperCase() === 'JSONRPC' ? facts.url : undefined;
  const url = direct ?? facts.additionalInterfaces?.find((one) => one.transport.toUpperCase() === 'JSONRPC')?.url;
  if (url) return { endpoint: endpointOf(url, base), wire: '0.3' };
  throw new UnfitAgent(t('{0} requires {1}, which Parley does not support.', facts.name, 'gRPC/REST'));
}

/**
 * Cards of local agents say `localhost` where the server may listen on one family of addresses only, or is reached from elsewhere under a name it
 * does not know: our host counts, their path.
 */
function endpointOf(url: string, base: string): string {
  const ours = new URL(base);
  if (!URL.canParse(url, base)) throw noAgent(url, 'invalid address');
  const theirs = new URL(url, base);
  if (isLoopback(theirs)) return new URL(`${theirs.pathname}${theirs.search}`, ours.origin).href;
  if (theirs.origin === ours.origin) return theirs.href;
  throw new UnfitAgent(t('{0} leads to {1}. If that is right, set it as the address.', ours.origin, theirs.origin));
}

/** The extension's version, which is a segment of its address (docs/protocols/a2a.md §5). */
export interface ExtensionVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly pre: string;
}

/** The version of the extension that this build implements. */
export const OURS: ExtensionVersion = { major: 0, minor: 0, patch: 0, pre: '' };

const SEGMENT = /^v(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

/** undefined when no segment of the path is a version. */
export function versionIn(uri: string): ExtensionVersion | undefined {
  const path = URL.canParse(uri) ? new URL(uri).pathname : uri;
  const match = path
    .split('/')
    .map((segment) => SEGMENT.exec(segment))
    .findLast((found) => found !== null);
  if (!match) return undefined;
  return { major: Number(match[1]), minor: Number(match[2] ?? 0), patch: Number(match[3] ?? 0), pre: match[4] ?? '' };
}

export function fits(version: ExtensionVersion | undefined): boolean {
  if (!version || version.major !== OURS.major || version.pre !== OURS.pre) return false;
  return version.major === 0 ? version.minor === OURS.minor : version.minor >= OURS.minor;
}

export function versionText(version: ExtensionVersion | undefined): string {
  if (!version) return '?';
  return `${version.major}.${version.minor}.${version.patch}${version.pre ? `-${version.pre}` : ''}`;
}

export function newest(uris: readonly string[]): string | undefined {
  const rank = (uri: string) => {
    const { major, minor, patch } = versionIn(uri) ?? OURS;
    return major * 1e12 + minor * 1e6 + patch;
  };
  return uris.toSorted((a, b) => rank(b) - rank(a))[0];
}
