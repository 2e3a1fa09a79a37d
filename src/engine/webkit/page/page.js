/* eslint-disable @typescript-eslint/no-unused-vars -- the scripts that come after it use them */
// Stands before the body of every script of ours: what it knows of the document that it runs in.
const KEY = Symbol.for('troupe.webkit')
let t = globalThis[KEY]
if (!t || t.document !== document) {
  t = {
    document,
    id: Math.random().toString(36).slice(2) + performance.timeOrigin,
    slots: new Map(),
    frames: new WeakMap(),
    count: 0,
    requests: new Set(),
    settled: new WeakSet()
  }
  Object.defineProperty(globalThis, KEY, { value: t, configurable: true })
  follow()
}
// The driver does not report requests: the calls of the page's scripts are recorded here.
function follow() {
  const noted = t
  const begins = () => {
    const number = ++noted.count
    noted.requests.add(number)
    return () => noted.requests.delete(number)
  }
  const awaited = new Map()
  const timed = (list) => {
    for (const { name } of list.getEntries()) {
      for (const end of awaited.get(name) ?? []) end()
      awaited.delete(name)
    }
  }
  try {
    new PerformanceObserver(timed).observe({ type: 'resource' })
  } catch {
    // Then answers are over a while after they begin.
  }
  const fetching = (target, self, given) => {
    const [begun, end] = [performance.now(), begins()]
    const answer = Reflect.apply(target, self, given)
    // The head of the response has arrived. It is complete when the browser reports its timing,
    // which never happens for some streams.
    const begins_to_come = () => {
      let url = ''
      try {
        url = new URL(given[0]?.url ?? given[0], document.baseURI).href
      } catch {
        // Nothing was timed then.
      }
      if (
        performance
          .getEntriesByName(url, 'resource')
          .some(({ startTime }) => startTime >= begun - 1)
      )
        return setTimeout(end, 0)
      awaited.set(url, [...(awaited.get(url) ?? []), end])
      setTimeout(end, 500)
    }
    answer.then(begins_to_come, end)
    return answer
  }
  const sending = (target, self, given) => {
    const end = begins()
    self.addEventListener('loadend', end, { once: true })
    try {
      return Reflect.apply(target, self, given)
    } catch (error) {
      end()
      throw error
    }
  }
  globalThis.fetch = new Proxy(globalThis.fetch, { apply: fetching })
  XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, { apply: sending })
  addEventListener(
    'click',
    (event) => {
      const link = event
        .composedPath()
        .find((node) => node instanceof HTMLAnchorElement && node.href)
      if (link)
        noted.click = { event, number: ++noted.count, url: link.href, isWay: isWay(link, event) }
    },
    { capture: true, passive: true }
  )
  for (const kind of ['load', 'error'])
    document.addEventListener(kind, ({ target }) => noted.settled.add(target), true)
}
// Whether a click on it leads this window to another document, or to a file.
const isWay = (link, { button, ctrlKey, metaKey, shiftKey }) => {
  const inDocument = link.hash && link.href.split('#')[0] === location.href.split('#')[0]
  const elsewhere =
    button || ctrlKey || metaKey || shiftKey || !/^(|_self|_top|_parent)$/i.test(link.target)
  return (
    /^https?:$/.test(link.protocol) && !link.hasAttribute('download') && !inDocument && !elsewhere
  )
}
// The link that was last clicked. Whether the page prevented the default action is known after all
// listeners have run.
const link = () =>
  t.click && {
    number: t.click.number,
    url: t.click.url,
    leads: t.click.isWay && !t.click.event.defaultPrevented
  }
// Scripts that were put into a document that had loaded, and are not there yet.
const scripts = () => {
  const all = [...document.scripts]
  if (!t.calm) {
    t.calm = document.readyState === 'complete'
    for (const script of all) t.settled.add(script)
    return []
  }
  return all
    .filter(
      (script) =>
        script.src &&
        /^(|module|(text|application)\/javascript)$/.test(script.type) &&
        !t.settled.has(script)
    )
    .map(number)
}
const windows = () =>
  [...document.querySelectorAll('iframe, frame, object, embed')].filter(
    (element) => element.contentWindow
  )
const number = (element) => {
  if (!t.frames.has(element)) t.frames.set(element, ++t.count)
  return t.frames.get(element)
}
const status = () => performance.getEntriesByType('navigation')[0]?.responseStatus || 0
const where = () => ({
  document: t.id,
  url: location.href,
  ready: document.readyState,
  frames: windows().map(number),
  status: status(),
  closing: globalThis.closed === true,
  requests: [...t.requests, ...scripts()],
  link: link(),
  blank: blank()
})
// The text of a blank document: the browser's own error page for a failed navigation is one.
const blank = () =>
  location.href === 'about:blank' ? (document.body?.innerText ?? '').slice(0, 1000) : undefined
// As JSON, told by hand: pages redefine how their objects are told.
const text = (value, above) => {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'boolean':
      return String(value)
    case 'bigint':
      // JSON has no bigint: a single one is returned as text, and one within a value is an error.
      if (above.length) throw KEY
      return `"${value}n"`
    case 'number':
      if (Number.isFinite(value))
        return above.length || !Object.is(value, -0) ? String(value) : '"-0"'
      return above.length ? 'null' : `"${value}"`
    case 'object':
      break
    case 'function':
      return above.length ? undefined : '{}'
    default:
      return undefined
  }
  if (value === null) return 'null'
  if (value instanceof Date) return isNaN(value) ? 'null' : `"${value.toISOString()}"`
  if (above.includes(value) || value === globalThis || above.length > 500) throw KEY
  const inside = [...above, value]
  if (value instanceof Set || value instanceof NodeList || value instanceof HTMLCollection)
    value = [...value]
  if (Array.isArray(value))
    return `[${Array.from(value, (item) => text(item, inside) ?? 'null').join()}]`
  if (value instanceof Node || value instanceof Map) return '{}'
  const entries = Object.keys(value)
    .map((name) => [name, text(value[name], inside)])
    .filter(([, told]) => told !== undefined)
  return `{${entries.map(([name, told]) => `${JSON.stringify(name)}:${told}`).join()}}`
}
// Whether the element with the focus is another one than `before`: then the focus is in this frame.
const focus = (before) =>
  document.activeElement !== before &&
  !!document.activeElement &&
  document.activeElement !== document.body
    ? ',"focused":true'
    : ''
const tell = (told) => `{"where":${JSON.stringify(where())}${told}}`
const value = (given) => `,"value":${text(given, []) ?? 'null'}`
const failure = (thrown) => {
  const isError =
    thrown instanceof Error ||
    (typeof thrown === 'object' && thrown !== null && typeof thrown.message === 'string')
  const message = isError
    ? String(thrown.name ? `${thrown.name}: ${thrown.message}` : thrown.message)
    : typeof thrown === 'string'
      ? thrown
      : (text(thrown, []) ?? String(thrown))
  return `,"thrown":${JSON.stringify({ message, class: isError ? thrown.name : null, line: thrown?.line ?? 0, column: thrown?.column ?? 0 })}`
}
const attempt = (tells) => {
  try {
    return tells()
  } catch (error) {
    return error === KEY ? ',"circular":true' : failure(error)
  }
}
// What the slot holds as soon as it holds something, or what there is after a while.
const told = (slot, wait) => {
  const taken = () => {
    if (slot.told !== undefined) t.slots.delete(slot.name)
    return tell((slot.told ?? ',"pending":true') + focus(slot.active))
  }
  if (slot.told !== undefined || !wait) return taken()
  return new Promise((resolve) => {
    let over = false
    // Returned once: later values are for the next caller.
    const done = () => {
      if (!over) resolve(taken())
      over = true
    }
    setTimeout(done, wait)
    slot.done.then(done, done)
  })
}
const run = (name, wait, work) => {
  const slot = { name, active: document.activeElement }
  t.slots.set(name, slot)
  slot.told = attempt(() => {
    const given = work()
    if (!given || typeof given.then !== 'function') return value(given)
    const set = (tells) => (result) => {
      slot.told = attempt(() => tells(result))
    }
    slot.done = Promise.resolve(given).then(set(value), set(failure))
  })
  return told(slot, wait)
}
// The number of the iframe that has the focus, 0 where none has.
const focusedFrame = () =>
  document.activeElement?.contentWindow ? number(document.activeElement) : 0
const poll = (name, wait) => {
  const slot = t.slots.get(name)
  return slot ? told(slot, wait) : tell(',"lost":true')
}
