/** Names of members, headers and variables whose text is a secret, however the words of the name are joined. */
const SECRET_NAME =
  /(?:api|access|private|secret|signing|encryption|master|account|shared)[-_ ]?key|tokens?$|tokens?[-_ ]?(?:value|secret)|secret|passw(?:or)?d|passphrase|passcode|^(?:pass|pwd|pin|otp|totp|mfa|jwt|sas|sig|dsn|auth|bearer|code|nonce)$|authoriz|authentic|cookie|credential|connection[-_]?string|code[-_]?verifier|webhook|signature|private|signed[-_]?url/i;
/** Words that tell a secret only in a setting: in a message `key` is also one on the keyboard, and `tokens` are counted. */
const IN_SETTINGS = /key|token|passw|auth/i;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** For the headers and variables that the user set for an agent. */
export function isSecretSetting(name: string): boolean {
  return isSecretName(name) || IN_SETTINGS.test(name);
}
