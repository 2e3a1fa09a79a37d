/** Local and session storage, and the `writeStorage` call. */
import type { Done, Item, WriteStorageArgument } from '../api'
import { CallError } from '../dom/call-error'
import { writeDatabases } from './indexed-db'

/** Returns the items of a storage, null if the document has no access to it. */
export function items(read: () => Storage): Item[] | null {
  try {
    const storage = read()
    const found: Item[] = []
    for (let at = 0; at < storage.length; at++) {
      const name = storage.key(at)
      if (name !== null) found.push({ name, value: storage.getItem(name) ?? '' })
    }
    return found
  } catch {
    return null
  }
}

function write(storage: Storage, items: Item[], replace: boolean): void {
  if (replace) storage.clear()
  for (const { name, value } of items) storage.setItem(name, value)
}

export async function writeStorage(argument: WriteStorageArgument): Promise<Done> {
  // The state is passed as JSON, because `__proto__` in a JavaScript literal sets the prototype.
  const {
    localStorage: local,
    sessionStorage: session,
    indexedDB: databases
  } = JSON.parse(argument.state)
  const replace = argument.replace ?? false
  try {
    if (local) write(localStorage, local, replace)
    if (session) write(sessionStorage, session, replace)
  } catch (error) {
    throw new CallError(
      'INVALID_PARAMETERS',
      `the storage of ${location.origin} could not be written: ${error instanceof Error ? error.message : String(error)}`
    )
  }
  if (databases) await writeDatabases(databases, replace)
  return { done: true }
}
