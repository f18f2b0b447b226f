// The older server imports this name; its own package would download a binary when installed.
const path = require('node:path');
exports.rgPath = path.join(__dirname, '..', 'ripgrep-universal', 'bin', `${process.platform}-${process.arch}`, 'rg');
