// Files of tools in an S3 bucket: any server reads what another one wrote.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { cleanEnvironment } from '../support/browser.mjs'
import { startHttpServer } from '../support/http.mjs'
import { freePort } from '../support/ports.mjs'
import { browsers } from '../support/processes.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { CREDENTIALS, NO_S3, startS3, startS3Proxy } from '../support/s3.mjs'
import { shared } from '../support/scope.mjs'
import { runDoctor } from '../support/scripts.mjs'
import { BIN, startServer } from '../support/server.mjs'
import { attachmentRoute, startSite } from '../support/site.mjs'

const OUTPUT = 's3://files/agents'
const ARGS = ['--output-dir', OUTPUT, '--enable-file-upload', 'true']
const PAGE = `<!doctype html><title>Files</title><link rel="icon" href="data:,"><h1 ondragover="event.preventDefault()">Files</h1>
  <a id="file" href="/report">Report</a> <a id="film" href="/film">Film</a>
  <input id="upload" type="file" multiple>`
/** More than a part of an upload. */
const FILM = Buffer.alloc(11 << 20, 'film')
/** Reads the files of the field. */
const UPLOADED = {
  script:
    '(async () => Promise.all([...document.querySelector("#upload").files].map(async (file) => [file.name, file.size, (await file.text()).slice(0, 20)])))()'
}

const ROUTES = {
  '/files': PAGE,
  '/report': attachmentRoute('report.csv', 'a,b'),
  '/film': attachmentRoute('film.mp4', FILM)
}

/**
 * Fails if a text contains a credential.
 * @param {string[]} texts
 */
function assertNoCredentials(...texts) {
  for (const text of texts)
    for (const secret of Object.values(CREDENTIALS)) assert.ok(!text.includes(secret), text)
}

describe('files in a bucket', { timeout: 120_000, skip: NO_S3 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startS3>>} */
  let s3
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  before(async () => {
    s3 = await startS3(scope)
    site = await startSite(scope, ROUTES)
  })

  test('that a tool of one server wrote are read by another server', async (t) => {
    const servers = [1, 2].map(() => startHttpServer(t, ARGS, { env: s3.env }))
    const [first, second] = await Promise.all(
      servers.map(async (server) => await (await server).connect())
    )
    for (const client of [first, second]) await client.ok('navigate', { url: site.url('/files') })

    const { path: picture } = await first.ok('screenshot', { path: 'pages/files.png' })
    assert.equal(picture, `${OUTPUT}/pages/files.png`)
    const stored = await s3.get(picture)
    assert.equal(stored.type, 'image/png')
    assert.equal(stored.body.toString('latin1', 1, 4), 'PNG')
    const compared = await second.ok('compare_screenshots', { baseline: picture })
    assert.equal(compared.changedPixels, 0)

    const { download } = await first.ok('click', { selector: '#file' })
    assert.equal(download.path, `${OUTPUT}/report.csv`)
    assert.equal(String((await s3.get(download.path)).body), 'a,b')
    await second.ok('upload_file', {
      selector: '#upload',
      files: [download.path, 'pages/files.png']
    })
    const { value } = await second.ok('evaluate', UPLOADED)
    assert.deepEqual(
      value.map(([/** @type {string} */ name, /** @type {number} */ size]) => [name, size]),
      [
        ['report.csv', 3],
        ['files.png', stored.body.length]
      ]
    )

    const saved = await first.ok('save_state', { path: 'state.json' })
    assert.equal(saved.path, `${OUTPUT}/state.json`)
    await second.ok('restore_state', { state: saved.path })
  })

  test('are not replaced, and have new names if the client has not chosen one', async (t) => {
    const client = await (await startHttpServer(t, ARGS, { env: s3.env })).connect()
    await client.ok('navigate', { url: site.url('/files') })
    const named = await client.ok('save_pdf', { path: 'kept.pdf' })
    assert.equal(named.path, `${OUTPUT}/kept.pdf`)
    const error = await client.fail('save_pdf', { path: 'kept.pdf' })
    assert.match(error.message, /`s3:\/\/files\/agents\/kept.pdf` exists/)
    const paths = []
    for (let round = 0; round < 2; round++) {
      const { download } = await client.ok('click', { selector: '#film' })
      assert.equal(download.state, 'completed', JSON.stringify(download))
      paths.push(download.path)
    }
    assert.equal(paths[0], `${OUTPUT}/film.mp4`)
    assert.match(paths[1], /^s3:\/\/files\/agents\/film-[0-9a-f]{8}\.mp4$/)
    for (const path of paths) assert.ok((await s3.get(path)).body.equals(FILM))
    await client.ok('upload_file', { selector: '#upload', files: [paths[1]] })
    const { value } = await client.ok('evaluate', UPLOADED)
    assert.deepEqual(value, [[paths[1].split('/').at(-1), FILM.length, 'film'.repeat(5)]])
  })

  test('are sent with TLS, and browsers do not inherit the credentials', async (t) => {
    const env = await startS3Proxy(t, s3.url, { tls: true })
    const server = await startHttpServer(t, ARGS, { env })
    const client = await server.connect()
    await client.ok('navigate', { url: site.url('/files') })
    const { path } = await client.ok('screenshot', { path: 'tls.png' })
    assert.equal((await s3.get(path)).type, 'image/png')
    const found = browsers(server.child.pid ?? 0)
    assert.ok(found.length > 0)
    for (const { pid } of found)
      assert.doesNotMatch(readFileSync(`/proc/${pid}/environ`, 'utf8'), /AWS_/)
  })

  test('that were sent only in part are removed', async (t) => {
    const env = await startS3Proxy(t, s3.url, {
      fault: (_method, path) => (path.includes('partNumber=2') ? 'reset' : undefined)
    })
    const client = await (await startHttpServer(t, ARGS, { env })).connect()
    await client.ok('navigate', { url: site.url('/files') })
    const before = await s3.keys()
    const { download } = await client.ok('click', { selector: '#film' })
    assert.equal(download.state, 'failed', JSON.stringify(download))
    assert.match(
      download.failure,
      /`s3:\/\/files\/agents\/film.*\.mp4` cannot be written: .*cannot be reached.*call again/
    )
    assert.deepEqual(await s3.keys(), before)
  })

  test('outside of the prefix are not accessible', async (t) => {
    const client = await (await startHttpServer(t, ARGS, { env: s3.env })).connect()
    await client.ok('navigate', { url: site.url('/files') })
    for (const name of [
      's3://files/other/x.png',
      's3://other/agents/x.png',
      '../x.png',
      '/x.png'
    ]) {
      const written = await client.fail('screenshot', { path: name })
      assert.equal(written.errorCode, 'BLOCKED_BY_POLICY', name)
      assert.match(written.suggestion, /s3:\/\/files\/agents/)
      const read = await client.fail('upload_file', { selector: '#upload', files: [name] })
      assert.equal(read.errorCode, 'BLOCKED_BY_POLICY', name)
    }
    const missing = await client.fail('upload_file', {
      selector: '#upload',
      files: ['none.txt']
    })
    assert.equal(missing.errorCode, 'INVALID_PARAMETERS')
    assert.match(missing.message, /s3:\/\/files\/agents\/none\.txt/)
  })

  test('include those of the Playwright tools', async (t) => {
    const args = ['--tools', 'playwright', '--caps', 'storage', ...ARGS]
    const client = await (await startHttpServer(t, args, { env: s3.env })).connect()
    /** @param {string} tool @param {Record<string, unknown>} [given] */
    const text = async (tool, given = {}) => {
      const { content, isError } = (await client.call(tool, given)).result
      assert.ok(!isError, JSON.stringify(content))
      return String(content[0].text)
    }
    const opened = await text('browser_navigate', { url: site.url('/files') })
    const [, snapshot] = /\[Snapshot\]\((.*)\)/.exec(opened) ?? []
    assert.match(snapshot, /^s3:\/\/files\/agents\/page-.*\.yml$/)
    assert.match(String((await s3.get(snapshot)).body), /heading "Files"/)

    const logged = await text('browser_evaluate', { function: '() => console.log("one")' })
    const [, log] = /New console entries: (.*)#L1$/m.exec(logged) ?? []
    assert.match(String((await s3.get(log)).body), /one/)

    const state = await text('browser_storage_state', { filename: 'logins.json' })
    assert.match(state, /\(s3:\/\/files\/agents\/logins\.json\)/)
    await text('browser_set_storage_state', { filename: 'logins.json' })

    await text('browser_click', { target: '#upload' })
    await text('browser_file_upload', { paths: ['logins.json'] })
    const names = await text('browser_evaluate', {
      function: '() => [...document.querySelector("#upload").files].map((file) => file.name)'
    })
    assert.match(names, /logins\.json/)
    const dropped = await text('browser_drop', { target: 'h1', paths: ['logins.json'] })
    assert.match(dropped, /s3:\/\/files\/agents\/logins\.json/)
  })

  test('and files in the working directory are accessible over stdio', async (t) => {
    const cwd = temporaryFolder(t)
    writeFileSync(join(cwd, 'local.txt'), 'local')
    const server = await startServer(t, ARGS, { cwd, env: s3.env })
    await server.ok('navigate', { url: site.url('/files') })
    const { path } = await server.ok('screenshot', { path: 'stdio.png' })
    assert.equal(path, `${OUTPUT}/stdio.png`)
    const local = await server.ok('screenshot', { path: join(cwd, 'here.png') })
    assert.equal(local.path, join(cwd, 'here.png'))
    assert.ok(readFileSync(local.path).equals((await s3.get(path)).body))
    await server.ok('upload_file', { selector: '#upload', files: ['local.txt', 'stdio.png'] })
    const { value } = await server.ok('evaluate', UPLOADED)
    assert.deepEqual(
      value.map(([/** @type {string} */ name]) => name),
      ['local.txt', 'stdio.png']
    )
    assert.deepEqual(readdirSync(cwd).sort(), ['here.png', 'local.txt'])
  })

  test('are checked by doctor, which leaves nothing behind', async () => {
    const before = await s3.keys()
    const report = await runDoctor(s3.env, '--output-dir', OUTPUT)
    assert.match(report.stdout, /ok +bucket: s3:\/\/files\/agents is writable/)
    assert.deepEqual(await s3.keys(), before)
    const { stdout: missing } = await runDoctor(s3.env, '--output-dir', 's3://missing/agents')
    assert.match(missing, /MISSING +bucket: .*the bucket `missing` does not exist at `http:/)
  })
})

describe('a bucket that cannot be used', { timeout: 180_000, skip: NO_S3 }, () => {
  /** Longer than a request to a bucket (30 s). */
  const SLOW_FAILURE = 60_000

  /**
   * Takes a screenshot with a path, and returns the error of the call.
   * @param {import('node:test').TestContext} t
   * @param {Record<string, string>} env @param {string[]} args
   */
  async function screenshotFailure(t, env, args = ARGS) {
    const server = await startHttpServer(t, args, { env })
    const client = await server.connect()
    await client.ok('evaluate', { script: '1' })
    const { json, meta, isError } = await client.call(
      'screenshot',
      { path: 'page.png' },
      { timeout: SLOW_FAILURE }
    )
    assert.ok(isError, JSON.stringify(json))
    const record = await client.ok('get_content', { ref_id: meta.refId })
    assertNoCredentials(JSON.stringify(json), JSON.stringify(record), server.stderr())
    return json
  }

  test('because its server cannot be reached is a retryable error', async (t) => {
    const url = `http://127.0.0.1:${await freePort()}`
    const env = { AWS_ENDPOINT_URL: url, ...CREDENTIALS }
    const error = await screenshotFailure(t, env)
    assert.deepEqual([error.errorCode, error.retryable], ['NETWORK_ERROR', true])
    assert.ok(error.message.includes(`\`${url}\` cannot be reached`), error.message)
    assert.match(error.suggestion, /AWS_ENDPOINT_URL/)
    const report = await runDoctor(env, '--output-dir', OUTPUT)
    assert.match(report.stdout, /MISSING +bucket: .*cannot be reached/)
    assertNoCredentials(report.stdout, report.stderr)
  })

  test('because its server does not respond is a retryable error', async (t) => {
    const env = await startS3Proxy(t, '', { fault: () => 'hang' })
    const error = await screenshotFailure(t, env)
    assert.deepEqual([error.errorCode, error.retryable], ['NETWORK_ERROR', true])
    assert.match(error.message, /cannot be reached \(.*timed out/)
  })

  test('because its server is overloaded is a retryable error', async (t) => {
    const body = '<Error><Code>SlowDown</Code></Error>'
    const env = await startS3Proxy(t, '', { fault: () => ({ status: 503, body }) })
    const error = await screenshotFailure(t, env)
    assert.deepEqual([error.errorCode, error.retryable], ['NETWORK_ERROR', true])
    assert.match(error.message, /is not available \(SlowDown\)/)
  })

  test('because there are no credentials is a retryable error', async (t) => {
    const env = {
      AWS_ENDPOINT_URL: `http://127.0.0.1:${await freePort()}`,
      AWS_METADATA_ENDPOINT: `http://127.0.0.1:${await freePort()}`
    }
    const error = await screenshotFailure(t, env)
    assert.deepEqual([error.errorCode, error.retryable], ['NETWORK_ERROR', true])
    assert.match(error.message, /AWS_ACCESS_KEY_ID is not set/)
    assert.match(error.suggestion, /AWS_SECRET_ACCESS_KEY/)
  })

  test('because of its credentials is a permanent error', async (t) => {
    const s3 = await startS3(t, { checksCredentials: true })
    const error = await screenshotFailure(t, s3.env)
    assert.deepEqual([error.errorCode, error.retryable], ['NETWORK_ERROR', false])
    assert.match(error.message, /denied the request \(InvalidAccessKeyId\)/)
    assert.match(error.suggestion, /AWS_ACCESS_KEY_ID/)
    const report = await runDoctor(s3.env, '--output-dir', OUTPUT)
    assert.match(report.stdout, /MISSING +bucket: .*denied the request/)
    assertNoCredentials(report.stdout, report.stderr)
  })

  test('because it does not exist is a permanent error', async (t) => {
    const s3 = await startS3(t)
    const error = await screenshotFailure(t, s3.env, ['--output-dir', 's3://missing'])
    assert.deepEqual([error.errorCode, error.retryable], ['NETWORK_ERROR', false])
    assert.match(error.message, /the bucket `missing` does not exist/)
  })
})

describe('the configuration of a bucket', { timeout: 60_000 }, () => {
  /** @param {Record<string, string>} env @param {string[]} args */
  const refused = (env, ...args) => {
    const command = [BIN, '--transport', 'http', '--port', '0', ...args]
    const { status, stderr } = spawnSync(process.execPath, command, { env: cleanEnvironment(env) })
    assert.equal(status, 2, String(stderr))
    return String(stderr)
  }

  test('is checked at the start, and its credentials are not shown', () => {
    for (const url of ['s3://', 'gs://files', 's3://a', 's3://files/../x'])
      assert.match(refused({}, '--output-dir', url), /must be a folder, or `s3:\/\/BUCKET\/PREFIX`/)
    assert.doesNotMatch(refused({}, '--output-dir', 's3://key:hid/den@files'), /hid|key:/)
    assert.match(
      refused({ AWS_ENDPOINT_URL: 'localhost:9000' }, '--output-dir', OUTPUT),
      /AWS_ENDPOINT_URL is `localhost:9000`/
    )
    const withPassword = refused(
      { AWS_ENDPOINT_URL: 'http://key:hidden@localhost:9000' },
      ...['--output-dir', OUTPUT]
    )
    assert.match(withPassword, /without credentials/)
    assert.doesNotMatch(withPassword, /hidden/)
    assert.match(
      refused({ AWS_ACCESS_KEY_ID: 'key' }, '--output-dir', OUTPUT),
      /`s3:\/\/files\/agents` cannot be used: .*secret/i
    )
    assert.match(
      refused({}, '--output-dir', OUTPUT, '--upstream', 'npx server'),
      /contradict each other: an upstream server writes its files into a folder/
    )
  })
})
