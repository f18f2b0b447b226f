/** Milliseconds of a day of 24 hours. */
const DAY = 24 * 60 * 60 * 1000;

/** The heading for something of `at` in a list that is newest first: today, yesterday, a weekday, or a month. */
export function dayLabel(at: number, now: number, language: string): string {
  const days = Math.round((midnight(now) - midnight(at)) / DAY);
  if (days <= 1) return capital(new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(-Math.max(0, days), 'day'), language);
  if (days < 7) return capital(new Date(at).toLocaleDateString(language, { weekday: 'long' }), language);
  return capital(new Date(at).toLocaleDateString(language, { month: 'long', year: 'numeric' }), language);
}

/** The time of day for today and yesterday, otherwise the date. */
export function timeLabel(at: number, now: number, language: string): string {
  const date = new Date(at);
  if (midnight(now) - midnight(at) < 2 * DAY) return date.toLocaleTimeString(language, { hour: '2-digit', minute: '2-digit' });
  return date.toLocaleDateString(language, { day: 'numeric', month: 'short' });
}

function midnight(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}

function capital(text: string, language: string): string {
  return text.slice(0, 1).toLocaleUpperCase(language) + text.slice(1);
}
