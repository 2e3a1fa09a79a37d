/* eslint-disable @typescript-eslint/no-unused-vars -- the scripts that follow use them */
// Runs before every script of Troupe. Declares functions that report the state of the document.
const KEY = Symbol.for('troupe.webkit')
let state = globalThis[KEY]
if (!state || state.document !== document) {
  state = {
    document,
    id: Math.random().toString(36).slice(2) + performance.timeOrigin,
    slots: new Map(),
    frames: new WeakMap(),
    count: 0,
    requests: new Set(),
    settled: new WeakSet()
  }
  Object.defineProperty(globalThis, KEY, { value: state, configurable: true })
  follow()
}
// Records the requests of the page's scripts, because the driver does not report them.
function follow() {
  const page = state
  const beginRequest = () => {
    const number = ++page.count
    page.requests.add(number)
    return () => page.requests.delete(number)
  }
  const awaited = new Map()
  const onTimings = (list) => {
    for (const { name } of list.getEntries()) {
      for (const end of awaited.get(name) ?? []) end()
      awaited.delete(name)
    }
  }
  try {
    new PerformanceObserver(onTimings).observe({ type: 'resource' })
  } catch {
    // Without it, requests end 500 ms after their response begins.
  }
  const callFetch = (target, self, given) => {
    const [begun, end] = [performance.now(), beginRequest()]
    const answer = Reflect.apply(target, self, given)
    // The head of the response has arrived. It is complete when the browser reports its timing,
    // which never happens for some streams.
    const headersArrived = () => {
      let url = ''
      try {
        url = new URL(given[0]?.url ?? given[0], document.baseURI).href
      } catch {
        // The URL is invalid, so no request was sent.
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
    answer.then(headersArrived, end)
    return answer
  }
  const callSend = (target, self, given) => {
    const end = beginRequest()
    self.addEventListener('loadend', end, { once: true })
    try {
      return Reflect.apply(target, self, given)
    } catch (error) {
      end()
      throw error
    }
  }
  globalThis.fetch = new Proxy(globalThis.fetch, { apply: callFetch })
  XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, { apply: callSend })
  addEventListener(
    'click',
    (event) => {
      const link = event
        .composedPath()
        .find((node) => node instanceof HTMLAnchorElement && node.href)
      if (link)
        page.click = {
          event,
          number: ++page.count,
          url: link.href,
          navigates: navigates(link, event)
        }
    },
    { capture: true, passive: true }
  )
  for (const kind of ['load', 'error'])
    document.addEventListener(kind, ({ target }) => page.settled.add(target), true)
}
// Whether a click on the link navigates this window or starts a download.
const navigates = (link, { button, ctrlKey, metaKey, shiftKey }) => {
  const inDocument = link.hash && link.href.split('#')[0] === location.href.split('#')[0]
  const elsewhere =
    button || ctrlKey || metaKey || shiftKey || !/^(|_self|_top|_parent)$/i.test(link.target)
  return (
    /^https?:$/.test(link.protocol) && !link.hasAttribute('download') && !inDocument && !elsewhere
  )
}
// The link that was last clicked. Whether the page prevented the default action is known only after
// all listeners have run.
const link = () =>
  state.click && {
    number: state.click.number,
    url: state.click.url,
    navigates: state.click.navigates && !state.click.event.defaultPrevented
  }
// Scripts that were added after the document had loaded, and that are still loading.
const scripts = () => {
  const all = [...document.scripts]
  if (!state.hasLoaded) {
    state.hasLoaded = document.readyState === 'complete'
    for (const script of all) state.settled.add(script)
    return []
  }
  return all
    .filter(
      (script) =>
        script.src &&
        /^(|module|(text|application)\/javascript)$/.test(script.type) &&
        !state.settled.has(script)
    )
    .map(number)
}
const windows = () =>
  [...document.querySelectorAll('iframe, frame, object, embed')].filter(
    (element) => element.contentWindow
  )
const number = (element) => {
  if (!state.frames.has(element)) state.frames.set(element, ++state.count)
  return state.frames.get(element)
}
const status = () => performance.getEntriesByType('navigation')[0]?.responseStatus || 0
const documentState = () => ({
  document: state.id,
  url: location.href,
  ready: document.readyState,
  frames: windows().map(number),
  status: status(),
  closing: globalThis.closed === true,
  requests: [...state.requests, ...scripts()],
  link: link(),
  blank: blank()
})
// The text of a blank document, because the browser shows its error pages as blank documents.
const blank = () =>
  location.href === 'about:blank' ? (document.body?.innerText ?? '').slice(0, 1000) : undefined
// Serializes to JSON without `JSON.stringify`, because pages can redefine how their objects are
// serialized.
const serialize = (value, above) => {
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
    return `[${Array.from(value, (item) => serialize(item, inside) ?? 'null').join()}]`
  if (value instanceof Node || value instanceof Map) return '{}'
  const entries = Object.keys(value)
    .map((name) => [name, serialize(value[name], inside)])
    .filter(([, json]) => json !== undefined)
  return `{${entries.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}`
}
// Whether the focus has moved to another element of this document since `before`.
const focus = (before) =>
  document.activeElement !== before &&
  !!document.activeElement &&
  document.activeElement !== document.body
    ? ',"focused":true'
    : ''
const report = (fields) => `{"state":${JSON.stringify(documentState())}${fields}}`
const value = (given) => `,"value":${serialize(given, []) ?? 'null'}`
const failure = (thrown) => {
  const isError =
    thrown instanceof Error ||
    (typeof thrown === 'object' && thrown !== null && typeof thrown.message === 'string')
  const message = isError
    ? String(thrown.name ? `${thrown.name}: ${thrown.message}` : thrown.message)
    : typeof thrown === 'string'
      ? thrown
      : (serialize(thrown, []) ?? String(thrown))
  return `,"thrown":${JSON.stringify({ message, class: isError ? thrown.name : null, line: thrown?.line ?? 0, column: thrown?.column ?? 0 })}`
}
const attempt = (read) => {
  try {
    return read()
  } catch (error) {
    return error === KEY ? ',"circular":true' : failure(error)
  }
}
// Returns the result in the slot as soon as there is one, or `pending` after `wait` milliseconds.
const resultOf = (slot, wait) => {
  const take = () => {
    if (slot.result !== undefined) state.slots.delete(slot.name)
    return report((slot.result ?? ',"pending":true') + focus(slot.active))
  }
  if (slot.result !== undefined || !wait) return take()
  return new Promise((resolve) => {
    let over = false
    // Resolves once. A later result is for the next poll.
    const done = () => {
      if (!over) resolve(take())
      over = true
    }
    setTimeout(done, wait)
    slot.done.then(done, done)
  })
}
const run = (name, wait, work) => {
  const slot = { name, active: document.activeElement }
  state.slots.set(name, slot)
  slot.result = attempt(() => {
    const given = work()
    if (!given || typeof given.then !== 'function') return value(given)
    const set = (read) => (result) => {
      slot.result = attempt(() => read(result))
    }
    slot.done = Promise.resolve(given).then(set(value), set(failure))
  })
  return resultOf(slot, wait)
}
// The number of the iframe that has the focus; 0 if no iframe has it.
const focusedFrame = () =>
  document.activeElement?.contentWindow ? number(document.activeElement) : 0
const poll = (name, wait) => {
  const slot = state.slots.get(name)
  return slot ? resultOf(slot, wait) : report(',"lost":true')
}
