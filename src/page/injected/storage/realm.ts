/**
 * The global object with the page's own constructors. A Firefox sandbox has its own `Date`, `Map`
 * and so on: the page's objects are not instances of them, and only their built-in properties are
 * visible. In other browsers, the constructors of the isolated world work.
 */
export const realm: typeof globalThis =
  (window as Window & { wrappedJSObject?: typeof globalThis }).wrappedJSObject ?? globalThis

/** Converts a plain value to one of the page's realm. */
export const toRealm = <Plain>(value: Plain): Plain =>
  realm === globalThis || typeof value !== 'object' || value === null
    ? value
    : realm.JSON.parse(JSON.stringify(value))
