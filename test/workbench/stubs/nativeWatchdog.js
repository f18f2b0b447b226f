// The native module kills a hung extension host when its parent dies; the host also polls its parent by itself.
exports.start = () => {};
exports.exit = (code) => {
  process.exit(code || 0);
};
