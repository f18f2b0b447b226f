// Plain JavaScript stand-in for the native logger: appends lines to the file it is given.
const fs = require('node:fs');
const path = require('node:path');
let level = 0;
class Logger {
  constructor(_type, _name, file) {
    this.file = file;
    this.level = level;
  }
  write(l, tag, message) {
    if (l < this.level || !this.file) return;
    try {
      fs.appendFileSync(this.file, `${new Date().toISOString()} [${tag}] ${message}\n`);
    } catch {
      /* the folder is gone: the run is over */
    }
  }
  trace(m) {
    this.write(0, 'trace', m);
  }
  debug(m) {
    this.write(1, 'debug', m);
  }
  info(m) {
    this.write(2, 'info', m);
  }
  warn(m) {
    this.write(3, 'warning', m);
  }
  error(m) {
    this.write(4, 'error', m);
  }
  critical(m) {
    this.write(5, 'critical', m);
  }
  getLevel() {
    return this.level;
  }
  setLevel(l) {
    this.level = l;
  }
  setPattern() {}
  clearFormatters() {}
  flush() {}
  drop() {
    this.file = undefined;
  }
}
exports.version = 0;
exports.Logger = Logger;
exports.setLevel = (l) => {
  level = l;
};
exports.setFlushOn = () => {};
exports.createRotatingLogger = async (name, file) => {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  return new Logger('rotating', name, file);
};
exports.createAsyncRotatingLogger = exports.createRotatingLogger;
