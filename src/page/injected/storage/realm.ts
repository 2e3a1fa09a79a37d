/**
 * The global object with the page's own constructors. A Firefox sandbox has its own `Date`, `Map`
 * and so on, of which the page's objects are not instances. The sandbox sees only their built-in
 * properties. In other browsers, the constructors of the isolated world work.
 */
export const realm: typeof globalThis =
  (window as Window & { wrappedJSObject?: typeof globalThis }).wrappedJSObject ?? globalThis

/** Converts a plain value to one of the page's realm. */
export const toRealm = <Plain>(value: Plain): Plain =>
  realm === globalThis || typeof value !== 'object' || value === null
    ? value
    : realm.JSON.parse(JSON.stringify(value))
