/** The toolkit tries a style element of its own when it loads; it looks for its nonce here. Must be imported before it. */
const nonce = document.currentScript?.nonce;
if (nonce) {
  const meta = document.createElement('meta');
  meta.setAttribute('property', 'csp-nonce');
  meta.content = nonce;
  document.head.append(meta);
}
