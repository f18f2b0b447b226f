/** The toolkit tries a style element when it loads and reads its nonce here. Must be imported before it. */
const nonce = document.currentScript?.nonce;
if (nonce) {
  const meta = document.createElement('meta');
  meta.setAttribute('property', 'csp-nonce');
  meta.content = nonce;
  document.head.append(meta);
}
