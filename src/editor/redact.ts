import { isSecretName } from '../base/secretNames.ts';
import type { SessionEvent } from '../session/events.ts';

const OUT = '[left out]';
/** Members that hold many secrets: left out whole. */
const SECRET_GROUP = /^(?:headers?|env|environment|environment[-_]?variables|variables|cookies|credentials|secrets|auth|authorization)$/i;
const LONGEST = 16 * 1024;
/** UTF-16 units searched for secrets, so that one that begins before the cut is found whole. */
const SEARCHED = LONGEST + 8 * 1024;

/**
 * One message as one line of JSON for the protocol log, without values under secret names, headers, environments and texts that look like a secret.
 * SECURITY.md states the promise: it is a net, not a proof.
 */
export function traceLine(message: unknown): string {
  const text = JSON.stringify(message, replaced) ?? String(message);
  const searched = text.slice(0, SEARCHED);
  const plain = withoutSecrets(searched);
  return text.length > LONGEST ? `${plain.slice(0, LONGEST)}… (${text.length} characters)` : plain;
}

/** One message as JSON without secrets, cut as in the log, and how many characters it had. */
export function redactedJson(message: unknown): { readonly json: string; readonly size: number } {
  const text = JSON.stringify(message, replaced) ?? String(message);
  const plain = withoutSecrets(text.slice(0, SEARCHED));
  return { json: text.length > LONGEST ? `${plain.slice(0, LONGEST)}…` : plain, size: text.length };
}

/** One event of a recording as JSON without secrets, whole, so that it can be replayed. */
export function redactedEvent(event: SessionEvent): string {
  return JSON.stringify(event, (name, value: unknown) => {
    const kept = replaced(name, value);
    return typeof kept === 'string' ? withoutSecrets(kept) : kept;
  });
}

function replaced(name: string, value: unknown): unknown {
  if (SECRET_GROUP.test(name) && typeof value === 'object' && value !== null) return OUT;
  if (!isSecretName(name)) return value;
  // Codes of errors are short, those of sign-ins long.
  if (typeof value === 'string') return value === '' || (/^code$/i.test(name) && value.length < 16) ? value : OUT;
  // A list of secrets, or an object about one. Numbers are counts of tokens.
  const counts = /tokens$/i.test(name) && !Array.isArray(value);
  return typeof value === 'object' && value !== null && !counts ? OUT : value;
}

/*
 * Secrets in running text, found by the marks of their issuers, by the word in front of them, by their place in an address or a command, or
 * because nobody but a machine would write them. Every pattern takes all it has read, or gives up within a few characters, so that a text of any
 * kind is read in linear time. A text may be JSON, also within JSON: quotes and line ends are then escaped by backslashes.
 */

/** The marks of issuers at the beginning of a run of the characters of names; the whole run is the key. Looks ahead by a few characters only. */
const MARKED = new RegExp(
  `^(?:${[
    // OpenAI, Anthropic, Stripe, GitHub, GitLab, Slack, Shopify, DigitalOcean, Docker, Linear, Sentry, Grafana …
    '(?:sk|rk|gsk|gh[pousr]|gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas)|xox[a-z]|xapp|shp(?:at|ss|ca|pa)|do[opr]_v1|whsec|dckr_(?:pat|oat)|lin_api|sntry[su]|glsa|ph[cx]|sq0(?:atp|csp|idp)|PMAK|NRAK|rubygems|nvapi|pscale_(?:tkn|pw|oauth)|lsv2_(?:pt|sk))[-_](?=[\\w-]{0,40}\\d|[\\w-]{16})[\\w-]{8}',
    // Marks that are words, or begin names: only with a number and of some length.
    '(?:pk|xai|pplx|r8|tvly|hf|npm|pypi|fw|csk|figd|pat|secret|pul|sbp|ntn|ATATT|ATCTT|ATBB|EAAC|key|re|whsk|e2b|ctx7sk)[-_](?=[\\w-]{0,40}\\d)[\\w-]{16}',
    'github_pat_\\w{16}',
    // Hugging Face by their length, and letters of both kinds; Twilio.
    'hf_(?=[a-z]{0,33}[A-Z])(?=[A-Z]{0,33}[a-z])[A-Za-z]{34}(?![\\w-])',
    'SK[\\da-f]{32}(?![\\w-])',
    '(?:ATATT3|ATCTT3|ATBB|EAAG|dapi|LTAI|AKCp|IGQV)(?=[\\w-]{0,20}\\d)[\\w-]{16}',
    // Vault, Doppler, Google, Terraform, SendGrid, Discord: with points.
    '(?:hv[sbr]|dp\\.(?:pt|st|ct|sa|scim|audit)|ya29|SG|xoxe)\\.[\\w-]{8}',
    '[A-Za-z\\d]{14}\\.atlasv1\\.',
    's\\.[A-Za-z\\d]{24}',
    '[MNO][A-Za-z\\d_-]{23,27}\\.[\\w-]{6}\\.',
    'A(?:KIA|SIA|GPA|IDA|ROA|IPA|NPA|NVA|BIA|CCA)[A-Z\\d]{12}',
    'AIza[\\w-]{20}',
    'GOCSPX-[\\w-]{8}',
    'AGE-SECRET-KEY-1\\w{12}',
    'eyJ[\\w-]{6}',
  ].join('|')})`,
);
/** Text in front of a name that is no part of it: the rest of an escaped line end, of a percent-encoded character, of the code of a colour. */
const LEADS: readonly (readonly [RegExp, RegExp])[] = [
  [/\\/, /^[nrtbf](?=[A-Za-z_-])/],
  [/%/, /^[\dA-F]{2}/],
  [/[[;]/, /^\d{0,3}m/],
];
/** Private keys, with the headers of an encrypted one. What shows no end is left out as far as it looks like one. */
const PRIVATE_KEYS = [
  /-----BEGIN [A-Z\d ]{0,40}PRIVATE KEY[A-Z ]{0,9}-----(?:[\w+/=\s\\:,.]|-(?!----))*/g,
  /Private-Lines:\s{0,4}\d{1,4}(?:[\w+/=\s\\]|-(?!MAC))*/g,
] as const;
/** Addresses that are secrets themselves, behind the name of their host. */
const SECRET_PATH = /\/(?:services|workflows|triggers|api\/webhooks)\/[\w/-]+/y;
const SECRET_HOST = /^(?:hooks\.slack\.com|(?:\w{1,20}\.)?discord(?:app)?\.com)$/i;
/** The secret of a bot of Telegram, behind its number. */
const BEHIND_BOT = /:AA[\w-]{20,}/y;
const REST = /[\w+/=-]*/y;

/** The user's name and password in an address; a password may hold an @. */
const IN_ADDRESS = /(?<=:\/\/)(?!git@)[^\s/"'\\<>`@]*@(?:[^\s/"'\\<>`@]*@)*/g;

/** Names that are secrets only in the query of an address. */
const IN_QUERY =
  /^(?:code|key|sig|sas|auth|state|session|pass|pwd|sid|hash|ticket|otp|assertion|X-Amz-(?:Signature|Credential|Security-Token))$/i;
/** Names that say something about a secret. */
const ABOUT =
  /(?:path|file|dir|folder|ur[il]|ids?|names?|type|counts?|limit|length|size|usage|budget|expir\w*|ttl|host|port|user|header|field|regex|pattern|policy|manager|provider|helper|store|handler|endpoint|kind|index|window|min|max|total|rate|status|label|hint|placeholder|errors?|required|valid\w*|enabled|source|class|schema)$/i;
/** Secrets that people choose, which may be any word or number. */
const PASSWORD = /pass(?!ed|es|ing|ive|age|port)|pwd|pin$|otp$|cvv|psk|_pw$/i;
/** A key in the manner of a variable: a constant, or the setting of a shell. */
const CONSTANT_KEY = /^(?:[A-Z\d]+_)*(?:KEY|TOKENS?|PASS|AUTH|PAT|CREDS?|SALT|DSN)(?:_[A-Z\d]{1,12})?$/;
/** Names that are more often those of something else. */
const VAGUE = /^(?:code|nonce|private|seed|auth|sig)$/i;
const LONGEST_NAME = 200;
const SCHEME = /^(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate|NTLM)$/i;
/** Names of headers and the like, whose secret goes on to the end of the line. */
const WHOLE_LINE = /(?:authorization|cookies?)$/i;

const RUN = /[A-Za-z\d_.$-]+/g;
const QUOTE = String.raw`\\{0,32}["'\`]`;
/** Between a name and its value: in a setting, in JSON, in code, also with a type; between two members of a list; in a table of headers. */
const BETWEEN = new RegExp(
  `(?:${QUOTE}|%22)?\\]?[ \\t]{0,9}(?::[ \\t]{0,9}(?:&?str|[Ss]tring|varchar)[ \\t]{0,9}=|[=:]{1,2}>?|=>|%3D|%3A)[ \\t]{0,9}(?:[brfuL@$]{1,2}(?=["']))?|${QUOTE}[ \\t]{0,9},\\s{0,9}${QUOTE}value${QUOTE}\\s{0,9}:\\s{0,9}|${QUOTE}[ \\t]{1,9}value=`,
  'y',
);
/** Behind an option of a command. */
const BEHIND_OPTION = new RegExp(`[ \\t]{1,9}(?![-|&;<>])|${QUOTE}[ \\t]{0,9},\\s{0,9}(?=\\\\{0,32}["'])`, 'y');
const BEHIND_WORD = /(?:[ \t]{1,9}|%20|\+)/y;
const OPENING = new RegExp(QUOTE, 'y');
const LINE = /[^"'\\\r\n]+/y;
const MARKUP = /[^<>\r\n]+/y;
/** A word that no blank and no quote ends; a mark between two settings ends it only when another one follows. */
const WORD = /(?:[^\s"'\\`&;,<>]|[&;,](?![\w. -]{0,40}[=:]|\s|$|["'\\`]))+/y;

/** A placeholder: it stands for a value, names its kind, or means that there is none. */
const PLACEHOLDER =
  /^(?:\[left out\].*|true|false|null|nil|none|undefined|string|str|number|int(?:eger)?|bool(?:ean)?|any|unknown|object|bytes|text|void|never|required|optional|missing|invalid|expired|redacted|hidden|secret|empty|yes|no|on|off|\W{0,20}|[xX*.•]{3,}|[$%{<].*|&[A-Z]\w*|(?:await|new|typeof)\b.*|(?:process|os|env|import|this|self|config|options|args|params|props|req|request|state|settings|secrets|vars|var|github|data)[.[].*|[\w.$?!]{1,80}\(.*)$/is;
/** Marks of code and prose behind a value. */
const ENDS = ';:,.)]}';
/** No longer value stays, so that reading on behind its name costs little. */
const MOST_KEPT = 400;
const NUMBER = /^[~<>]?\d[\d.,_]{0,15}[kKmM%]?$/;

/** Programs that take a password behind a short option, and which. */
const SHORT_OPTIONS: ReadonlyMap<string, string> = new Map([
  ['curl', 'ubE'],
  ['mysql', 'p'],
  ['mysqldump', 'p'],
  ['mysqladmin', 'p'],
  ['mariadb', 'p'],
  ['sshpass', 'p'],
  ['mongo', 'p'],
  ['mongosh', 'p'],
  ['mongodump', 'p'],
  ['login', 'p'],
  ['redis-cli', 'a'],
  ['ldapsearch', 'w'],
  ['ldapadd', 'w'],
  ['ldapmodify', 'w'],
  ['sqlcmd', 'P'],
  ['bcp', 'P'],
  ['zip', 'P'],
  ['unzip', 'P'],
  ['7z', 'p'],
  ['smbclient', 'U'],
  ['wget', 'u'],
  ['xh', 'a'],
  ['az', 'p'],
  ['openssl', 'k'],
]);
/** Programs that keep secrets: behind these words the line is one. */
const KEEPS = /\b(?:fly|flyctl|gh|wrangler|doppler|supabase|netlify|pulumi|infisical|sst|railway|heroku) secrets? $/;
/** Options whose value is a name and a password. */
const USER_OPTION = /^(?:-[A-Za-z]{0,5}u|--(?:proxy-)?user|--auth)$/;
const USER = /^(?!\d+:\d+$)[^\s:%/]{1,200}[:%].{2}/;

/** True for random text: longer than a word, of all three kinds of characters, which take turns as no word has them. */
const DRAWN = /(?<![A-Za-z\d+/_=-])[A-Za-z\d+/_=-]{30,}/g;
const MOST_DRAWN = 400;
/** Checksums, and what agents and models name messages and calls. */
const NO_SECRET =
  /^(?:sha\d{1,3}[-:=]|h1:|(?:call|toolu|srvtoolu|tool|msg|req|resp|chatcmpl|run|thread|item|rs|gen|ses|session|conv|task)[-_])|^[\da-fA-F/_=+-]*$/;
const BEHIND_SUM = /(?:sha\d{1,3}|h1|md5|SHA256)[-:= ]{1,2}$/i;
const BEHIND_ID = new RegExp(
  `(?:[iI]d|ID|[kK]ey|hash|digest|integrity|checksum)s?(?:${QUOTE})?[ \\t]{0,4}[:=][ \\t]{0,4}\\[?(?:${QUOTE})?$`,
);

/** A text without the parts that look like a secret. */
export function withoutSecrets(text: string): string {
  let plain = text.replace(IN_ADDRESS, `${OUT}@`);
  for (const pattern of PRIVATE_KEYS) plain = plain.replace(pattern, OUT);
  return withoutDrawn(new NamedSecrets(plain).plain());
}

function withoutDrawn(text: string): string {
  return text.replace(DRAWN, (run, at: number) => {
    if (run.length > MOST_DRAWN || NO_SECRET.test(run) || !isDrawn(run)) return run;
    const before = text.slice(Math.max(0, at - 40), at);
    return BEHIND_SUM.test(before) || BEHIND_ID.test(before) ? run : OUT;
  });
}

function isDrawn(run: string): boolean {
  let changes = 0;
  let numbers = 0;
  const kinds = { upper: 0, lower: 0, digit: 0, mark: 0 };
  let before: keyof typeof kinds | undefined;
  for (const one of run) {
    const kind = one >= '0' && one <= '9' ? 'digit' : one >= 'A' && one <= 'Z' ? 'upper' : one >= 'a' && one <= 'z' ? 'lower' : 'mark';
    kinds[kind] += 1;
    if (kind !== before) changes += 1;
    if (kind !== before && kind === 'digit') numbers += 1;
    before = kind;
  }
  return numbers >= 3 && kinds.upper >= 4 && kinds.lower >= 4 && kinds.mark <= run.length / 8 && changes >= 0.42 * run.length;
}

/** Reads a text from run to run of the characters of names, and leaves out the values of those that name a secret. */
class NamedSecrets {
  readonly #text: string;
  #kept = '';
  /** Up to where the text has been kept or left out. */
  #done = 0;
  /** The short options that take a secret in the command that is being read. */
  #short = '';

  constructor(text: string) {
    this.#text = text;
  }

  plain(): string {
    const runs = new RegExp(RUN);
    let end = 0;
    for (let found = runs.exec(this.#text); found; found = runs.exec(this.#text)) {
      if (this.#short !== '' && /[\r\n|;&]/.test(this.#text.slice(end, Math.min(found.index, end + 20)))) this.#short = '';
      end = runs.lastIndex;
      this.#read(found[0], found.index, end);
      if (this.#done > end) runs.lastIndex = this.#done;
    }
    return this.#kept + this.#text.slice(this.#done);
  }

  #read(run: string, at: number, end: number): void {
    const own = this.#ownPart(run, at);
    if (MARKED.test(own)) return this.#drop(end - own.length, past(REST, this.#text, end) ?? end);
    const name = own.slice(-LONGEST_NAME);
    const letters = SHORT_OPTIONS.get(name) ?? '';
    if (!this.#short.includes(letters)) this.#short += letters;
    if (SCHEME.test(name) && this.#behindScheme(end)) return;
    if (own.charAt(0) === '-' && own.length > 1) this.#option(name, end);
    else if (name === 'BY' || name === 'by') this.#said(/identified\s$/i, at, end);
    else if (/^(?:set|put|import)$/.test(name) && KEEPS.test(this.#text.slice(Math.max(0, at - 30), at)))
      this.#drop(end, past(LINE, this.#text, end));
    else if (run.startsWith('_') && this.#text[at - 1] === ':') this.#setting(name, at, end);
    else if (SECRET_HOST.test(name)) this.#drop(end, past(SECRET_PATH, this.#text, end));
    else if (/^\d{8,10}$/.test(name)) this.#drop(end, past(BEHIND_BOT, this.#text, end));
    else this.#assigned(name, at, end);
  }

  /** A run without what is left of an escape in front of it, and without points there. */
  #ownPart(run: string, at: number): string {
    const before = this.#text.charAt(at - 1);
    const lead = LEADS.find(([mark]) => mark.test(before))?.[1].exec(run)?.[0] ?? '';
    return lead === '' && !/^[._$]/.test(run) ? run : run.slice(lead.length).replace(/^[._$]{1,8}/, '');
  }

  #isSecret(name: string, at: number): boolean {
    const before = this.#text.slice(Math.max(0, at - 12), at);
    if (/[?&;#]$/.test(before) && IN_QUERY.test(name)) return true;
    const whole = /^key/i.test(name) ? `${/(?:api|access|auth|secret|private|account|master) $/i.exec(before)?.[0] ?? ''}${name}` : name;
    return !ABOUT.test(whole) && (isSecretName(whole) || CONSTANT_KEY.test(whole));
  }

  #assigned(name: string, at: number, end: number): void {
    const from = past(BETWEEN, this.#text, end);
    if (from === undefined) {
      if (this.#text[at - 1] === '<' && this.#text[end] === '>' && this.#isSecret(name, at)) this.#leaveOut(name, end + 1, MARKUP);
      else if (/^password$/i.test(name)) this.#said(/login\s{1,4}\S{1,80}\s{1,4}$|(?:with|alter|set|encrypted)\s{1,4}$/i, at, end);
      return;
    }
    if (!this.#isSecret(name, at)) return;
    // A word of prose in front of a colon names no secret that reads as a word.
    const isProse = this.#text[end] === ':' && /^[ \t][^"'\\]$/.test(this.#text.slice(from - 1, from + 1)) && /^[a-z]+$/i.test(name);
    const isVague = VAGUE.test(name);
    const needs = isVague || (isProse && !PASSWORD.test(name)) ? looksDrawn : () => true;
    this.#leaveOut(name, from, WHOLE_LINE.test(name) ? LINE : WORD, (value) => needs(value) && (!isVague || value.length >= 12));
  }

  #option(name: string, end: number): void {
    const letters = name.slice(1);
    const takes = letters !== '' && this.#short.includes(letters.charAt(0));
    if (takes && letters.length > 1) return void this.#leaveOut('pass', end - letters.length + 1, WORD);
    const isUser = USER_OPTION.test(name);
    const bare = letters.replace(/^-/, '');
    const isNamed = letters.length > 1 && (isSecretName(bare) || /^(?:pass|key)$/i.test(bare)) && !ABOUT.test(bare) && !/^no-/.test(bare);
    if (!isUser && !isNamed && !takes) return;
    const from = past(BETWEEN, this.#text, end) ?? past(BEHIND_OPTION, this.#text, end);
    if (from === undefined) return;
    const needs = isUser ? USER : letters === 'b' ? /=/ : letters === 'E' ? /:/ : /key$/i.test(bare) ? /^(?![./~]|[A-Z]:)/ : /./;
    this.#leaveOut('pass', from, WORD, (value) => needs.test(value));
  }

  /** A setting of npm, behind the name of a registry: with its value behind a blank, or assigned. */
  #setting(name: string, at: number, end: number): void {
    const from = this.#isSecret(name, at) ? past(BEHIND_OPTION, this.#text, end) : undefined;
    if (from === undefined) this.#assigned(name, at, end);
    else this.#leaveOut('pass', from, WORD);
  }

  /** True when a key follows the name of its scheme. */
  #behindScheme(end: number): boolean {
    const from = past(BEHIND_WORD, this.#text, end);
    if (from === undefined) return false;
    return this.#leaveOut('pass', from, WORD, (value) => value.length >= 8 && looksDrawn(value));
  }

  /** A secret in quotes behind a word, or any behind what goes before it. */
  #said(before: RegExp, at: number, end: number): void {
    const from = past(BEHIND_WORD, this.#text, end);
    if (from !== undefined && before.test(this.#text.slice(Math.max(0, at - 100), at))) this.#leaveOut('pass', from, WORD);
  }

  /** Leaves out the value that begins there, if there is one. */
  #leaveOut(name: string, at: number, unquoted: RegExp, holds: (value: string) => boolean = () => true): boolean {
    const opened = past(OPENING, this.#text, at);
    const from = opened ?? at;
    const to = opened === undefined ? (past(unquoted, this.#text, at) ?? at) : closing(this.#text, at, opened);
    const value = this.#text.slice(from, to);
    if (value === '' || from < this.#done) return false;
    if (value.length <= MOST_KEPT && (isNone(value, PASSWORD.test(name)) || !holds(value))) return false;
    this.#drop(from, to);
    return true;
  }

  #drop(from: number, to: number | undefined): void {
    if (to === undefined || from < this.#done) return;
    this.#kept += this.#text.slice(this.#done, from) + OUT;
    this.#done = to;
  }
}

/** Where what a sticky pattern takes from there ends. */
function past(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** Where the text ends that a quote opens: at the same quote behind no more backslashes, or with the line. */
function closing(text: string, opening: number, from: number): number {
  const quote = text[from - 1];
  let slashes = 0;
  for (let at = from; at < text.length; at += 1) {
    const one = text[at];
    if (one === '\n' || (one === quote && slashes < from - opening)) return at - (one === quote ? slashes : 0);
    slashes = one === '\\' ? slashes + 1 : 0;
  }
  return text.length;
}

function isNone(value: string, isPassword: boolean): boolean {
  let to = value.length;
  while (to > 0 && ENDS.includes(value.charAt(to - 1))) to -= 1;
  const bare = value.slice(0, to);
  return PLACEHOLDER.test(bare) || (!isPassword && NUMBER.test(bare));
}

function looksDrawn(value: string): boolean {
  return value.length >= 20 || /\d|[a-z][A-Z]|[=+/_!@#$%^*]/.test(value);
}
