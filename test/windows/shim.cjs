// Loaded into the Windows node that runs under Wine. Each part stands for something that Wine does differently from Windows.
const net = require('node:net');
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');

// Wine 8 refuses TCP_KEEPALIVE on a socket that is not connected yet, which fetch asks for.
net.Socket.prototype.setKeepAlive = function setKeepAlive() {
  return this;
};

// A folder in which a process still ends cannot be removed; tests clean up while their agent is going.
const { rmSync } = fs;
fs.rmSync = (file, options) => {
  try {
    rmSync(file, options);
  } catch (error) {
    if (!['EBUSY', 'ENOTEMPTY', 'EPERM'].includes(error.code)) throw error;
  }
};
syncBuiltinESMExports();

if (process.env.PARLEY_WINE_CMD) process.env.comspec = process.env.PARLEY_WINE_CMD;
