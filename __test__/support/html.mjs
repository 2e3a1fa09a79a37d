/**
 * Returns a page without an icon, so that the browser requests none.
 * @param {string} title @param {string} body @param {string} [head] more elements of the head
 */
export const renderPage = (title, body, head = '') =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><link rel="icon" href="data:,">${head}<body>${body}`
