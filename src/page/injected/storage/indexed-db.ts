/**
 * Reads and writes the IndexedDB databases of this origin, in the format of Playwright's storage
 * state.
 */
import type { DatabaseState, StoreState } from '../api'
import { CallError } from '../dom/call-error'
import { realm, toRealm } from './realm'
import { decode, Encoder, maxSize } from './structured-clone'

/**
 * Maximum ms of an operation. A database does not open while a page has it open in another version.
 */
const operationTimeout = 2000

function requestResult<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('refused'))
  })
}

/**
 * Opens a database. With `upgrade`, creates a missing one. Without it, a missing one is an error.
 */
function open(
  name: string,
  version?: number,
  upgrade?: (database: IDBDatabase) => void
): Promise<IDBDatabase> {
  const request = realm.indexedDB.open(name, version)
  let refused: unknown
  request.onupgradeneeded = () => {
    try {
      if (!upgrade) throw new Error(`there is no database \`${name}\``)
      upgrade(request.result)
    } catch (error) {
      refused = error
      request.transaction?.abort()
    }
  }
  const opened = requestResult(request).then((database) => {
    // Closes the connection when a page wants to upgrade or delete the database.
    database.onversionchange = () => database.close()
    return database
  })
  const withReason = opened.catch((error) => {
    throw refused ?? error
  })
  return withTimeout(withReason, `the database \`${name}\` did not open`, (onLateResult) =>
    onLateResult.close()
  )
}

/**
 * Resolves with the result of `work` if it is ready in time. A later result is passed to
 * `onLateResult`.
 */
function withTimeout<Result>(
  work: Promise<Result>,
  what: string,
  onLateResult: (result: Result) => void = () => {}
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`${what} within ${operationTimeout} ms`))
      work.then(onLateResult, () => {})
    }, operationTimeout)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

const keyPathProperties = (keyPath: string | string[] | null): object =>
  keyPath === null
    ? {}
    : typeof keyPath === 'string'
      ? { keyPath }
      : { keyPathArray: Array.from(keyPath) }

async function readStore(store: IDBObjectStore, encoder: Encoder): Promise<StoreState> {
  const [keys, values] = await Promise.all([
    requestResult(store.getAllKeys()),
    requestResult(store.getAll())
  ])
  const records = []
  for (let at = 0; at < keys.length && encoder.size < maxSize; at++) {
    // An inline key is part of the value.
    records.push({
      ...(store.keyPath === null ? encoder.part('key', keys[at]) : {}),
      ...encoder.part('value', values[at])
    })
  }
  const indexes = Array.from(store.indexNames, (name) => {
    const { keyPath, multiEntry, unique } = store.index(name)
    return { name, ...keyPathProperties(keyPath), multiEntry, unique }
  })
  return {
    name: store.name,
    autoIncrement: store.autoIncrement,
    ...keyPathProperties(store.keyPath),
    records,
    indexes
  }
}

async function readDatabase(name: string, encoder: Encoder): Promise<DatabaseState> {
  const database = await open(name)
  try {
    const stores: StoreState[] = []
    if (database.objectStoreNames.length > 0) {
      const transaction = database.transaction(database.objectStoreNames, 'readonly')
      // All requests are made at once, because a transaction ends when it has no pending request.
      stores.push(
        ...(await Promise.all(
          Array.from(database.objectStoreNames, (store) =>
            readStore(transaction.objectStore(store), encoder)
          )
        ))
      )
    }
    return { name, version: database.version, stores }
  } finally {
    database.close()
  }
}

/** Returns all databases, and the names of those that were too large or did not respond. */
export async function readDatabases(): Promise<{ databases: DatabaseState[]; skipped: string[] }> {
  const databases: DatabaseState[] = []
  const skipped: string[] = []
  const encoder = new Encoder()
  for (const { name } of await realm.indexedDB.databases()) {
    if (name === undefined) continue
    const before = encoder.size
    const found =
      encoder.size < maxSize ? await readDatabase(name, encoder).catch(() => null) : null
    if (found && encoder.size < maxSize) databases.push(found)
    else {
      skipped.push(name)
      encoder.size = before
    }
  }
  await encoder.finish()
  return { databases, skipped }
}

const keyPathOf = (saved: {
  keyPath?: string
  keyPathArray?: string[]
}): string | string[] | null => saved.keyPathArray ?? saved.keyPath ?? null

function createStores(database: IDBDatabase, saved: DatabaseState): void {
  for (const { name, autoIncrement, indexes, ...rest } of saved.stores) {
    const store = database.createObjectStore(
      name,
      toRealm({ autoIncrement, keyPath: keyPathOf(rest) })
    )
    for (const { name, multiEntry, unique, ...rest } of indexes)
      store.createIndex(name, toRealm(keyPathOf(rest) ?? ''), toRealm({ multiEntry, unique }))
  }
}

/** Returns whether a database has the version, stores and indexes of `saved`. */
function hasSchema(database: IDBDatabase, saved: DatabaseState): boolean {
  if (
    database.version !== saved.version ||
    database.objectStoreNames.length !== saved.stores.length
  )
    return false
  if (saved.stores.some(({ name }) => !database.objectStoreNames.contains(name))) return false
  if (saved.stores.length === 0) return true
  const transaction = database.transaction(database.objectStoreNames, 'readonly')
  const same = (one: unknown, other: unknown): boolean =>
    JSON.stringify(one) === JSON.stringify(other)
  return saved.stores.every((expected) => {
    const store = transaction.objectStore(expected.name)
    return (
      same(store.keyPath, keyPathOf(expected)) &&
      store.autoIncrement === expected.autoIncrement &&
      store.indexNames.length === expected.indexes.length &&
      expected.indexes.every((index) => store.indexNames.contains(index.name))
    )
  })
}

/**
 * Opens a database with the schema of `saved`. Replaces an existing database with another schema.
 */
async function prepare(saved: DatabaseState, exists: boolean): Promise<IDBDatabase> {
  if (exists) {
    const existing = await open(saved.name)
    if (hasSchema(existing, saved)) return existing
    existing.close()
    await withTimeout(
      requestResult(realm.indexedDB.deleteDatabase(saved.name)),
      `the database \`${saved.name}\` is in use by an open page and was not deleted`
    )
  }
  return open(saved.name, saved.version, (database) => createStores(database, saved))
}

async function writeDatabase(saved: DatabaseState, exists: boolean): Promise<void> {
  const database = await prepare(saved, exists)
  try {
    if (saved.stores.length === 0) return
    const transaction = database.transaction(database.objectStoreNames, 'readwrite')
    const done = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error ?? new Error('refused'))
    })
    try {
      for (const { name, records, ...rest } of saved.stores) {
        const store = transaction.objectStore(name)
        store.clear()
        for (const record of records) {
          const value = toRealm(record.value) ?? decode(record.valueEncoded)
          if (keyPathOf(rest) === null)
            store.put(value, (toRealm(record.key) ?? decode(record.keyEncoded)) as IDBValidKey)
          else store.put(value)
        }
      }
    } catch (error) {
      done.catch(() => {})
      transaction.abort()
      throw error
    }
    await done
  } finally {
    database.close()
  }
}

/** Replaces the given databases. `replace` also deletes all other databases. */
export async function writeDatabases(databases: DatabaseState[], replace: boolean): Promise<void> {
  const existing = (await realm.indexedDB.databases()).map(({ name }) => name)
  for (const name of existing) {
    if (!replace || name === undefined || databases.some((saved) => saved.name === name)) continue
    await withTimeout(
      requestResult(realm.indexedDB.deleteDatabase(name)),
      `the database \`${name}\` is in use by an open page and was not deleted`
    ).catch(failWrite(name))
  }
  for (const saved of databases)
    await writeDatabase(saved, existing.includes(saved.name)).catch(failWrite(saved.name))
}

const failWrite =
  (name: string) =>
  (error: unknown): never => {
    throw new CallError(
      'INVALID_PARAMETERS',
      `the database \`${name}\` of ${location.origin} could not be written: ${error instanceof Error || error instanceof realm.Error ? error.message : String(error)}`,
      { database: name }
    )
  }
