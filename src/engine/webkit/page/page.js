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
  observeDocument()
}
// Records the requests of the page's scripts and the clicks on links, which the driver does not
// report.
function observeDocument() {
  const page = state
  const beginRequest = () => {
    const number = ++page.count
    page.requests.add(number)
    return () => page.requests.delete(number)
  }
  const awaitingTiming = new Map()
  const onTimings = (list) => {
    for (const { name } of list.getEntries()) {
      for (const end of awaitingTiming.get(name) ?? []) end()
      awaitingTiming.delete(name)
    }
  }
  try {
    new PerformanceObserver(onTimings).observe({ type: 'resource' })
  } catch {
    // Without it, requests end 500 ms after their response begins.
  }
  const callFetch = (target, self, args) => {
    const [startedAt, end] = [performance.now(), beginRequest()]
    const response = Reflect.apply(target, self, args)
    // The response is complete when the browser reports its timing. For some streams it never does.
    const headersArrived = () => {
      let url = ''
      try {
        url = new URL(args[0]?.url ?? args[0], document.baseURI).href
      } catch {
        // The URL is invalid, so no request was sent.
      }
      if (
        performance
          .getEntriesByName(url, 'resource')
          .some(({ startTime }) => startTime >= startedAt - 1)
      )
        return setTimeout(end, 0)
      awaitingTiming.set(url, [...(awaitingTiming.get(url) ?? []), end])
      setTimeout(end, 500)
    }
    response.then(headersArrived, end)
    return response
  }
  const callSend = (target, self, args) => {
    const end = beginRequest()
    self.addEventListener('loadend', end, { once: true })
    try {
      return Reflect.apply(target, self, args)
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
// Returns whether a click on the link navigates this window or starts a download.
const navigates = (link, { button, ctrlKey, metaKey, shiftKey }) => {
  const isSameDocument = link.hash && link.href.split('#')[0] === location.href.split('#')[0]
  const opensElsewhere =
    button || ctrlKey || metaKey || shiftKey || !/^(|_self|_top|_parent)$/i.test(link.target)
  return (
    /^https?:$/.test(link.protocol) &&
    !link.hasAttribute('download') &&
    !isSameDocument &&
    !opensElsewhere
  )
}
// Returns the link that was last clicked. Only after all listeners have run is it known whether one
// of them has prevented the default action.
const link = () =>
  state.click && {
    number: state.click.number,
    url: state.click.url,
    navigates: state.click.navigates && !state.click.event.defaultPrevented
  }
// Returns the scripts that were added after the document had loaded and that are still loading.
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
// Returns the text of a blank document, because the browser's error pages are blank documents.
const blank = () =>
  location.href === 'about:blank' ? (document.body?.innerText ?? '').slice(0, 1000) : undefined
// Serializes to JSON without `JSON.stringify`, because pages can redefine how their objects are
// serialized.
const serialize = (value, ancestors) => {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'boolean':
      return String(value)
    case 'bigint':
      // JSON has no bigint. A bigint alone is returned as text; inside another value it is an
      // error.
      if (ancestors.length) throw KEY
      return `"${value}n"`
    case 'number':
      if (Number.isFinite(value))
        return ancestors.length || !Object.is(value, -0) ? String(value) : '"-0"'
      return ancestors.length ? 'null' : `"${value}"`
    case 'object':
      break
    case 'function':
      return ancestors.length ? undefined : '{}'
    default:
      return undefined
  }
  if (value === null) return 'null'
  if (value instanceof Date) return isNaN(value) ? 'null' : `"${value.toISOString()}"`
  if (ancestors.includes(value) || value === globalThis || ancestors.length > 500) throw KEY
  const path = [...ancestors, value]
  if (value instanceof Set || value instanceof NodeList || value instanceof HTMLCollection)
    value = [...value]
  if (Array.isArray(value))
    return `[${Array.from(value, (item) => serialize(item, path) ?? 'null').join()}]`
  if (value instanceof Node || value instanceof Map) return '{}'
  const entries = Object.keys(value)
    .map((name) => [name, serialize(value[name], path)])
    .filter(([, json]) => json !== undefined)
  return `{${entries.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}`
}
// Reports whether the focus has moved from `before` to another element of this document.
const focus = (before) =>
  document.activeElement !== before &&
  !!document.activeElement &&
  document.activeElement !== document.body
    ? ',"focused":true'
    : ''
const report = (fields) => `{"state":${JSON.stringify(documentState())}${fields}}`
const value = (result) => `,"value":${serialize(result, []) ?? 'null'}`
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
// Returns the slot's result as soon as it exists, or `pending` after `wait` milliseconds.
const resultOf = (slot, wait) => {
  const take = () => {
    if (slot.result !== undefined) state.slots.delete(slot.name)
    return report((slot.result ?? ',"pending":true') + focus(slot.active))
  }
  if (slot.result !== undefined || !wait) return take()
  return new Promise((resolve) => {
    let isResolved = false
    // Resolves once. A later result is for the next poll.
    const done = () => {
      if (!isResolved) resolve(take())
      isResolved = true
    }
    setTimeout(done, wait)
    slot.done.then(done, done)
  })
}
const run = (name, wait, work) => {
  const slot = { name, active: document.activeElement }
  state.slots.set(name, slot)
  slot.result = attempt(() => {
    const result = work()
    if (!result || typeof result.then !== 'function') return value(result)
    const set = (read) => (settled) => {
      slot.result = attempt(() => read(settled))
    }
    slot.done = Promise.resolve(result).then(set(value), set(failure))
  })
  return resultOf(slot, wait)
}
// Returns the number of the iframe that has the focus; 0 if no iframe has it.
const focusedFrame = () =>
  document.activeElement?.contentWindow ? number(document.activeElement) : 0
const poll = (name, wait) => {
  const slot = state.slots.get(name)
  return slot ? resultOf(slot, wait) : report(',"lost":true')
}
