// A record in a separate file, and its contents.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Creates a folder that is removed after the test.
 * @param {{ after: (end: () => unknown) => void }} t
 */
export function temporaryFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-record-'))
  // A server that is ending may still write to the folder.
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 }))
  return folder
}

/**
 * Returns the path of a new record.
 * @param {{ after: (end: () => unknown) => void }} t
 */
export function recordFile(t) {
  return join(temporaryFolder(t), 'record.db')
}

/** The reason why tests cannot read the tables; false if they can. */
export const NO_SQLITE = hasPython()
  ? false
  : 'the Python module `sqlite3`, which reads the tables, is not installed'

function hasPython() {
  try {
    execFileSync('python3', ['-c', 'import sqlite3'])
    return true
  } catch {
    return false
  }
}

const QUERY = `
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.row_factory = sqlite3.Row
rows = [dict(row) for row in connection.execute(sys.argv[2])]
connection.commit()
print(json.dumps(rows, default=lambda data: data.hex()))
`

/**
 * Reads the file with SQL, as another program would.
 * @param {string} file
 * @param {string} sql
 * @returns {any[]}
 */
export function query(file, sql) {
  if (!existsSync(file)) throw new Error(`there is no ${file}`)
  return JSON.parse(
    execFileSync('python3', ['-c', QUERY, file, sql], { encoding: 'utf8', maxBuffer: 1 << 28 })
  )
}

/** Kills the server with SIGKILL. @param {import('./server.mjs').Server} server */
export async function kill(server) {
  server.child.kill('SIGKILL')
  await server.exit
}
