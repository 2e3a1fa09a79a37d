// Settings of Node-RED: a free port of 127.0.0.1, no connections to its maker.
module.exports = {
  uiHost: '127.0.0.1',
  uiPort: 0,
  flowFile: 'flows.json',
  credentialSecret: false,
  telemetry: { enabled: false, updateNotification: false },
  externalModules: { palette: { allowInstall: false } },
  editorTheme: { tours: false }
}
