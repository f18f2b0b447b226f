/** Names of members, headers and variables whose text is a secret, however the words of the name are joined. */
const SECRET_NAME =
  /(?:api|access|private|priv|secret|signing|encryption|encrypt|master|account|shared|auth|licen[cs]e|deploy|ssh|hmac|service)[-_ .]?key|tokens?\d{0,3}$|tokens?[-_ ]?(?:value|secret|string|v\d)|secret|passw(?:or)?d|passwort|passphrase|passcode|^(?:pin|otp|totp|mfa|sas|sig|dsn|auth|bearer|code|nonce|pem|cvv|cvc|ssn|seed)$|(?:^|[-_ .])(?:pass|pwd|pw|jwt|pat|psk)(?:$|[-_ .\d])|(?:db|user|root|admin|sql|pg|smtp|mail|ftp|proxy|store)pass$|authoriz|authentic|cookie|credential|connection[-_ ]?string|code[-_]?verifier|webhook|signature|private|mnemonic|seed[-_ ]?phrase|(?:recovery|backup)[-_ ]?codes?|[-_ ]bearer$|signed[-_]?url/i;
/** Words that tell a secret only in a setting: in a message `key` is also one on the keyboard, and `tokens` are counted. */
const IN_SETTINGS = /key|token|passw|auth/i;
/** Longest part of a name that is looked at, from its end. */
const LONGEST = 200;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.slice(-LONGEST).replace(/([a-z\d])(?=[A-Z])/g, '$1_'));
}

/** For the headers and variables that the user set for an agent. */
export function isSecretSetting(name: string): boolean {
  return isSecretName(name) || IN_SETTINGS.test(name);
}
