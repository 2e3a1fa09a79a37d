/**
 * The page's own objects where values of its pass through our hands: a sandbox of Firefox has a `Date`, a `Map` and so on of
 * its own, which none of the page's is an instance of, and shows the page's objects only as far as the browser made them.
 * Elsewhere our world's are as good.
 */
export const realm: typeof globalThis = (window as Window & { wrappedJSObject?: typeof globalThis }).wrappedJSObject ?? globalThis;

/** As the page would have made it. */
export const native = <Plain>(value: Plain): Plain => (realm === globalThis || typeof value !== "object" || value === null ? value : realm.JSON.parse(JSON.stringify(value)));
