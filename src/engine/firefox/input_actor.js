// Runs beside the documents of each tab, in their process and with the browser's rights: moves and presses the pointer,
// and tells what the documents ask for.
{
  // BiDi's own `performActions` comes from the browser's process with each event and waits for it there: five ways for a
  // click.
  const { event } = ChromeUtils.importESModule(
    'chrome://remote/content/shared/webdriver/Event.sys.mjs'
  )
  const nextTask = () => new Promise((resolve) => Services.tm.dispatchToMainThread(resolve))

  const dispatch = ({ x, y, ...data }) => {
    // As if nobody had called us: what a handler has promised comes before the next handler.
    const { windowUtils } = content
    const level = windowUtils.microTaskLevel
    windowUtils.microTaskLevel = 0
    try {
      event.synthesizeMouseAtPoint(x, y, { ...data, allowToHandleDragDrop: true, id: 0 }, content)
    } finally {
      windowUtils.microTaskLevel = level
    }
  }

  const point = async (events) => {
    for (const event of events) {
      dispatch(event)
      // What an event has queued comes before the next, and has come when they are over.
      await nextTask()
    }
  }
  const GONE = 'DiscardedBrowsingContextError: the page has gone'
  // Does `work`, and tells its answer or failure.
  const answered = async (number, work) => {
    let failure, answer
    try {
      answer = await work()
    } catch (error) {
      // A page that is being left has no window.
      failure = content ? String(error) : GONE
    }
    sendAsyncMessage('troupe:pointed', { number, failure, answer })
  }
  const takeFocus = () => content.document.hasFocus() || content.focus()

  addMessageListener('troupe:point', ({ data: { number, focus, events } }) =>
    answered(number, () => {
      if (focus) takeFocus()
      return point(events)
    })
  )

  // How our script in each document is called: its prelude hands that over before the page's own scripts run, and no page
  // hears of it.
  const scripts = new WeakMap()
  addEventListener(
    'troupe:script',
    (event) => {
      const { document } = event.target
      if (scripts.has(document)) return
      event.stopImmediatePropagation()
      scripts.set(document, Cu.waiveXrays(event.detail))
    },
    true,
    true
  )
  // A script's promise in a document that is left would never come.
  const leaving = new Set()
  addEventListener(
    'pagehide',
    ({ target }) => {
      if (target === content?.document) for (const leave of leaving) leave()
    },
    true
  )
  const call = async (script, { name, arguments: given }) => {
    let leave
    const left = new Promise((_resolve, reject) => leaving.add((leave = () => reject(GONE))))
    try {
      return await Promise.race([script.call(name, JSON.stringify(given)), left])
    } finally {
      leaving.delete(leave)
    }
  }

  // Looks, presses where the answer says, and calls once more.
  addMessageListener('troupe:press', ({ data: { number, until, look, events, then } }) =>
    answered(number, async () => {
      const step = (told) => sendAsyncMessage('troupe:step', { number, ...told })
      const script = scripts.get(content.document)
      const looked = script ? await call(script, look) : null
      const press = Date.now() < until && JSON.parse(looked)?.press
      step({ looked, pressing: !!press })
      if (!press) return null
      takeFocus()
      await point(events.map((event) => ({ ...event, ...press })))
      step({ pressed: true })
      return call(script, then)
    })
  )

  // BiDi tells of a request only when its proxy is known, some turns of the browser's process after the document has asked;
  // what has come of an action may have been looked at by then.
  const KINDS = new Map([
    [Ci.nsIContentPolicy.TYPE_SCRIPT, 'script'],
    [Ci.nsIContentPolicy.TYPE_XMLHTTPREQUEST, 'fetch'],
    [Ci.nsIContentPolicy.TYPE_FETCH, 'fetch']
  ])
  const asked = new Set()
  const opening = (channel) => {
    const { browsingContext: frame, externalContentPolicyType } =
      channel.QueryInterface(Ci.nsIChannel).loadInfo ?? {}
    const kind = KINDS.get(externalContentPolicyType)
    if (!kind || frame?.top !== docShell?.browsingContext) return
    // What a document brings along is waited for with its load.
    if (!frame.window || frame.window.document.readyState === 'loading') return
    const { channelId } = channel.QueryInterface(Ci.nsIIdentChannel)
    asked.add(channelId)
    sendAsyncMessage('troupe:asks', { channel: channelId, frame: frame.id, kind })
  }
  // Also one that was given up before the browser's process knew of it.
  const over = (channel) => {
    const { channelId } = channel.QueryInterface(Ci.nsIIdentChannel)
    if (asked.delete(channelId)) sendAsyncMessage('troupe:asked', { channel: channelId })
  }
  Services.obs.addObserver(opening, 'http-on-opening-request')
  Services.obs.addObserver(over, 'http-on-stop-request')
  addEventListener('unload', ({ target }) => {
    if (target !== globalThis) return
    Services.obs.removeObserver(opening, 'http-on-opening-request')
    Services.obs.removeObserver(over, 'http-on-stop-request')
  })

  sendAsyncMessage('troupe:hands')
}
