// Loaded into the Windows node that runs under Wine. Each part stands for something that Wine does differently from Windows.
const net = require('node:net');
const fs = require('node:fs');
const path = require('node:path');
const { syncBuiltinESMExports } = require('node:module');

// Wine 8 refuses TCP_KEEPALIVE on a socket that is not connected yet, which fetch asks for.
net.Socket.prototype.setKeepAlive = function setKeepAlive() {
  return this;
};

// A folder in which a process still ends cannot be removed; tests clean up while their agent is going. Only for the temporary folders that tests make
// and remove whole: what the product removes fails as on Windows.
const { mkdtempSync, rmSync } = fs;
const made = new Set();
fs.mkdtempSync = (...args) => {
  const folder = mkdtempSync(...args);
  for (const name of [folder, fs.realpathSync(folder)]) made.add(path.resolve(String(name)));
  return folder;
};
fs.rmSync = (file, options) => {
  try {
    rmSync(file, options);
  } catch (error) {
    const isCleanUp = options?.recursive && made.has(path.resolve(String(file)));
    if (!isCleanUp || !['EBUSY', 'ENOTEMPTY', 'EPERM'].includes(error.code)) throw error;
  }
};
syncBuiltinESMExports();

if (process.env.PARLEY_WINE_CMD) process.env.comspec = process.env.PARLEY_WINE_CMD;
