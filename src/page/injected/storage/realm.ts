/**
 * The page's own constructors, for values of the page. A Firefox sandbox has its own `Date`, `Map` and so on, so that
 * the page's objects are not instances of them, and it shows only the built-in properties of the page's objects. In
 * other browsers, the constructors of Troupe's world are used.
 */
export const realm: typeof globalThis =
  (window as Window & { wrappedJSObject?: typeof globalThis }).wrappedJSObject ?? globalThis

/** As the page would have made it. */
export const native = <Plain>(value: Plain): Plain =>
  realm === globalThis || typeof value !== 'object' || value === null
    ? value
    : realm.JSON.parse(JSON.stringify(value))
