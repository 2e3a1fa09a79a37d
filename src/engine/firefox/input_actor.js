// A privileged frame script in the content process of each tab. Dispatches mouse events, and
// reports requests of the documents.
{
  // BiDi's `performActions` runs in the parent process and awaits each event there: five round
  // trips for a click.
  const { event } = ChromeUtils.importESModule(
    'chrome://remote/content/shared/webdriver/Event.sys.mjs'
  )
  const nextTask = () => new Promise((resolve) => Services.tm.dispatchToMainThread(resolve))

  const dispatch = ({ x, y, ...data }) => {
    // Run microtasks between event handlers, as for native events.
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
      // Run the tasks that an event queues before the next event.
      await nextTask()
    }
  }
  const GONE = 'DiscardedBrowsingContextError: the page is closed'
  // Runs `work` and sends its result or failure.
  const respond = async (number, work) => {
    let failure, result
    try {
      result = await work()
    } catch (error) {
      // During a navigation, there is no window.
      failure = content ? String(error) : GONE
    }
    sendAsyncMessage('troupe:done', { number, failure, result })
  }
  const takeFocus = () => content.document.hasFocus() || content.focus()

  addMessageListener('troupe:point', ({ data: { number, focus, events } }) =>
    respond(number, () => {
      if (focus) takeFocus()
      return point(events)
    })
  )

  // Troupe's script in each document. Its prelude registers it before the page's own scripts run,
  // and the page cannot observe the event.
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
  // A promise of a script never settles after the document is unloaded.
  const leaving = new Set()
  addEventListener(
    'pagehide',
    ({ target }) => {
      if (target === content?.document) for (const leave of leaving) leave()
    },
    true
  )
  const call = async (script, { name, arguments: parameters }) => {
    let leave
    const left = new Promise((_resolve, reject) => leaving.add((leave = () => reject(GONE))))
    try {
      return await Promise.race([script.call(name, JSON.stringify(parameters)), left])
    } finally {
      leaving.delete(leave)
    }
  }

  // Calls the check, clicks at the point in its result, and makes the second call.
  addMessageListener('troupe:click', ({ data: { number, until, check, events, then } }) =>
    respond(number, async () => {
      const report = (progress) => sendAsyncMessage('troupe:progress', { number, ...progress })
      const script = scripts.get(content.document)
      const result = script ? await call(script, check) : null
      const press = Date.now() < until && JSON.parse(result)?.press
      report({ result, pressing: !!press })
      if (!press) return null
      takeFocus()
      await point(events.map((event) => ({ ...event, ...press })))
      report({ pressed: true })
      return call(script, then)
    })
  )

  // BiDi reports a request when its proxy is known, some event loop ticks after the document has
  // sent it. The effects of an action may have been checked by then.
  const KINDS = new Map([
    [Ci.nsIContentPolicy.TYPE_SCRIPT, 'script'],
    [Ci.nsIContentPolicy.TYPE_XMLHTTPREQUEST, 'fetch'],
    [Ci.nsIContentPolicy.TYPE_FETCH, 'fetch']
  ])
  const reported = new Set()
  const requestOpened = (channel) => {
    const { browsingContext: frame, externalContentPolicyType } =
      channel.QueryInterface(Ci.nsIChannel).loadInfo ?? {}
    const kind = KINDS.get(externalContentPolicyType)
    if (!kind || frame?.top !== docShell?.browsingContext) return
    // The `load` event covers the requests of a loading document.
    if (!frame.window || frame.window.document.readyState === 'loading') return
    const { channelId } = channel.QueryInterface(Ci.nsIIdentChannel)
    reported.add(channelId)
    sendAsyncMessage('troupe:request-sent', { channel: channelId, frame: frame.id, kind })
  }
  // Includes requests that are canceled before they reach the parent process.
  const requestStopped = (channel) => {
    const { channelId } = channel.QueryInterface(Ci.nsIIdentChannel)
    if (reported.delete(channelId))
      sendAsyncMessage('troupe:request-finished', { channel: channelId })
  }
  Services.obs.addObserver(requestOpened, 'http-on-opening-request')
  Services.obs.addObserver(requestStopped, 'http-on-stop-request')
  addEventListener('unload', ({ target }) => {
    if (target !== globalThis) return
    Services.obs.removeObserver(requestOpened, 'http-on-opening-request')
    Services.obs.removeObserver(requestStopped, 'http-on-stop-request')
  })

  sendAsyncMessage('troupe:loaded')
}
