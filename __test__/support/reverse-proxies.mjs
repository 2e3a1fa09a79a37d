// Real reverse proxies in front of a server, with the configurations that docs/reverse-proxy.md
// shows.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathOf } from './browser.mjs'
import { freePort } from './ports.mjs'
import { until } from './wait.mjs'

const DOCUMENT = new URL('../../docs/reverse-proxy.md', import.meta.url)

/**
 * A reverse proxy.
 * @typedef {object} ReverseProxy
 * @property {string} debianPackage
 * @property {string} language of its block in the document
 * @property {[string | RegExp, string][]} changes to the documented configuration: another port, no
 *   TLS. PORT is the placeholder of the port
 * @property {(site: string, folder: string) => string} configuration the whole file, which includes
 *   the documented part
 * @property {(file: string, folder: string) => string[]} args of the program
 */

/** The proxies by program. @type {Record<string, ReverseProxy>} */
export const REVERSE_PROXIES = {
  nginx: {
    debianPackage: 'nginx-light',
    language: 'nginx',
    changes: [
      ['listen 443 ssl;', 'listen 127.0.0.1:PORT;'],
      [/ssl_certificate.*\n/g, '\n']
    ],
    configuration: (site, folder) => {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${folder}/${name};`
      )
      return [
        'daemon off;',
        process.getuid?.() === 0 ? 'user root;' : '',
        'worker_processes 1;',
        `pid ${folder}/nginx.pid;`,
        'error_log stderr warn;',
        'events { worker_connections 256; }',
        `http { access_log off; ${temporary.join(' ')}\n${site}}`
      ].join('\n')
    },
    args: (file, folder) => ['-p', folder, '-c', file, '-e', 'stderr']
  },
  caddy: {
    debianPackage: 'caddy',
    language: 'caddy',
    changes: [['tools.example.com {', 'http://:PORT {\n    bind 127.0.0.1']],
    configuration: (site) => `{\n    admin off\n    auto_https off\n}\n${site}`,
    args: (file) => ['run', '--config', file, '--adapter', 'caddyfile']
  }
}

/** Returns the path of a program; '' if it is not installed. @param {string} name */
export const programPath = (name) => pathOf(name, ['/usr/sbin']) ?? ''

/**
 * Returns the configuration in a document, changed to other ports and without TLS.
 * @param {URL} document @param {string} language of its code block
 * @param {[string | RegExp, string][]} changes PORT is the placeholder of `port`
 * @param {number} port
 */
export function documentedConfiguration(document, language, changes, port) {
  const [, text = ''] =
    new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(readFileSync(document, 'utf8')) ?? []
  return changes.reduce((site, [from, to]) => {
    const changed = site.replace(from, to.replace('PORT', String(port)))
    if (changed === site) throw new Error(`${document.pathname} has no ${from}`)
    return changed
  }, text)
}

/**
 * Starts an installed proxy, waits until it responds at `url`, and ends it with the test.
 * @param {{ after: (end: () => unknown) => void }} t @param {string} name of the program
 * @param {Pick<ReverseProxy, 'configuration' | 'args'>} proxy
 * @param {string} site the documented part of its configuration
 * @param {string} url
 */
export async function startProxyProgram(t, name, proxy, site, url) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-proxy-'))
  const file = join(folder, 'configuration')
  writeFileSync(file, proxy.configuration(site, folder))
  let stderr = ''
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(programPath(name), proxy.args(file, folder), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  child.stderr.on('data', (data) => (stderr += data))
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true })
  })
  const answers = () =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false
    )
  await Promise.race([
    until(answers, name),
    ended.then(() => Promise.reject(new Error(`${name} ended: ${stderr}`)))
  ])
}

/**
 * Starts a reverse proxy in front of the server at `upstream`, and ends it with the test.
 * @param {{ after: (end: () => unknown) => void }} t @param {string} name @param {number} upstream
 * @returns {Promise<number>} its port
 */
export async function startReverseProxy(t, name, upstream) {
  const proxy = REVERSE_PROXIES[name]
  const port = await freePort()
  /** @type {[string | RegExp, string][]} */
  const changes = [...proxy.changes, ['127.0.0.1:4000', `127.0.0.1:${upstream}`]]
  const site = documentedConfiguration(DOCUMENT, proxy.language, changes, port)
  await startProxyProgram(t, name, proxy, site, `http://127.0.0.1:${port}/troupe/health`)
  return port
}
