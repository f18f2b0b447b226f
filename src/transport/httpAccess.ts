import { createHash, timingSafeEqual } from 'node:crypto';

/** Takes as long for a wrong secret as for a right one, whatever its length. */
export function isSameSecret(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

/** A `Host` header that names this computer to itself: a page in a browser reaches a local port by a name of its own. */
export function isLocalHostHeader(host: string): boolean {
  return /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i.test(host);
}
