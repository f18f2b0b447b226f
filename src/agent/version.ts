/** What parley-agent calls itself. */
export const NAME = 'parley-agent';
export const VERSION = '0.1.0';
