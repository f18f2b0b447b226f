/** The name of parley-agent in every protocol. */
export const NAME = 'parley-agent';
export const VERSION = '0.1.0';
