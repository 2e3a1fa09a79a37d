// Runs in the browser's chrome window, with privileges. Implements what BiDi lacks. `frameScript`
// is the source of `input_actor.js`; `headless` is true if the window is invisible.
// eslint-disable-next-line @typescript-eslint/no-unused-vars -- the whole file is the function that is called
function connect(frameScript, headless) {
  const { UserContextManager } = ChromeUtils.importESModule(
    'chrome://remote/content/shared/UserContextManager.sys.mjs'
  )
  const { NavigableManager } = ChromeUtils.importESModule(
    'chrome://remote/content/shared/NavigableManager.sys.mjs'
  )
  const { RemoteAgent } = ChromeUtils.importESModule(
    'chrome://remote/content/components/RemoteAgent.sys.mjs'
  )
  // Sends a message to Troupe as a BiDi event. Messages on a BiDi channel arrive some event loop
  // ticks later, after the results of later commands.
  const send = (data) =>
    RemoteAgent.webDriverBiDi?.session?.messageHandler.emit('message-handler-protocol-event', {
      name: 'troupe.message',
      data
    })

  const page = (id) => {
    const context = NavigableManager.getBrowsingContextById(id)?.top
    if (!context) throw new Error('the page is closed')
    return context
  }

  // Several pages are in use at once: every tab is active and painted, not only the selected one.
  const activate = (tab) => {
    const browser = tab.linkedBrowser
    if (!browser?.browsingContext) return
    Object.defineProperty(browser, 'docShellIsActive', {
      get: () => true,
      set() {},
      configurable: true
    })
    browser.browsingContext.isActive = true
    browser.renderLayers = true
  }
  for (const tab of gBrowser.tabs) activate(tab)
  // The URL of the tab that a page is opening. BiDi reports it only when the navigation begins.
  let openingUrl
  const trackOpenedUrls = (windows) => {
    for (const name of ['createContentWindowInFrame', 'openURIInFrame']) {
      const open = windows[name]
      windows[name] = function (uri, ...others) {
        openingUrl = uri?.spec
        try {
          return open.call(this, uri, ...others)
        } finally {
          openingUrl = undefined
        }
      }
    }
  }
  try {
    trackOpenedUrls(
      ChromeUtils.importESModule('resource:///modules/BrowserDOMWindow.sys.mjs').BrowserDOMWindow
        .prototype
    )
  } catch {
    // This version of Firefox does not have the module. BiDi's own reports are then the only
    // source.
  }
  // A Shift-click opens a tab, as `window.open` does with Troupe's preferences: BiDi reports a
  // window only when it has loaded, and does not report which page opened it.
  try {
    const { URILoadingHelper } = ChromeUtils.importESModule(
      'resource:///modules/URILoadingHelper.sys.mjs'
    )
    const open = URILoadingHelper.openLinkIn
    URILoadingHelper.openLinkIn = function (from, url, where, params) {
      return open.call(this, from, url, where === 'window' ? 'tab' : where, params)
    }
  } catch {
    // This version of Firefox does not have the module. The result of the click can then lack such
    // a window.
  }
  gBrowser.tabContainer.addEventListener('TabRemotenessChange', ({ target }) => activate(target))
  gBrowser.tabContainer.addEventListener('TabOpen', ({ target }) => {
    activate(target)
    // BiDi reports the tab later, which may be after the result of the command that opened it.
    const userContext = UserContextManager.getIdByInternalId(target.userContextId ?? 0)
    const { openerTab } = target
    send({
      tab: {
        userContext,
        context: NavigableManager.getIdForBrowser(target.linkedBrowser),
        url: openingUrl,
        // BiDi does not report the opener of a link with `noopener`.
        opener: openerTab ? NavigableManager.getIdForBrowser(openerTab.linkedBrowser) : undefined
      }
    })
  })

  window.addEventListener(
    'oop-browser-crashed',
    ({ target }) => send({ crashed: { context: NavigableManager.getIdForBrowser(target) } }),
    true
  )

  // BiDi reports a dialog when it is drawn, which may be after the result of the command that
  // opened it.
  window.addEventListener(
    'DOMWillOpenModalDialog',
    ({ target }) => {
      if (target.localName === 'browser')
        send({ dialog: { context: NavigableManager.getIdForBrowser(target) } })
    },
    true
  )

  // Do not open the native context menu: Troupe cannot close it, and it can block the browser.
  if (headless) {
    document
      .getElementById('contentAreaContextMenu')
      ?.addEventListener('popupshowing', (event) => event.preventDefault(), true)
  }

  // The reports of long-running scripts.
  const hanging = new Set()
  // The pages whose long-running script must be terminated, with a deadline: Firefox reports such a
  // script each second.
  const terminating = new Map()
  const REPORT_TIMEOUT = 2500
  const hangReported = (report) => {
    hanging.add(report.QueryInterface(Ci.nsIHangReport))
    for (const [loader, until] of terminating) {
      const isOfPage = report.isReportForBrowserOrChildren(loader)
      if (isOfPage && Date.now() < until) report.terminateScript()
      if (isOfPage || Date.now() >= until) terminating.delete(loader)
    }
  }
  Services.obs.addObserver(hangReported, 'process-hang-report')
  Services.obs.addObserver(
    (report) => hanging.delete(report.QueryInterface(Ci.nsIHangReport)),
    'clear-hang-report'
  )

  // Network throttles by Firefox's internal id of the user context, or by the id of the tab.
  const { NetworkThrottleManager } = ChromeUtils.importESModule(
    'resource://devtools/shared/network-observer/NetworkThrottleManager.sys.mjs'
  )
  const throttles = new Map()
  const throttleOf = (channel) => {
    const { loadInfo } = channel
    if (!loadInfo || throttles.size === 0) return
    const context = loadInfo.workerAssociatedBrowsingContext ?? loadInfo.targetBrowsingContext
    return (
      throttles.get(loadInfo.originAttributes.userContextId) ??
      (context && throttles.get(NavigableManager.getIdForBrowsingContext(context.top)))
    )
  }
  gBrowser.tabContainer.addEventListener('TabClose', ({ target }) =>
    throttles.delete(NavigableManager.getIdForBrowser(target.linkedBrowser))
  )
  const throttleUpload = (channel) =>
    throttleOf(channel.QueryInterface(Ci.nsIHttpChannel))?.manageUpload(channel)
  const throttleDownload = (channel) =>
    throttleOf(channel.QueryInterface(Ci.nsIHttpChannel))?.manage(
      channel.QueryInterface(Ci.nsITraceableChannel)
    )
  Services.obs.addObserver(throttleUpload, 'http-on-modify-request')
  Services.obs.addObserver(throttleDownload, 'http-on-examine-response')

  // The message managers of the tabs in which `input_actor.js` is loaded.
  const actors = new WeakSet()
  // Its pending requests, by number.
  const pending = new Map()
  let lastNumber = 0
  const settle = (number, outcome) => {
    pending.get(number)?.resolve(outcome)
    pending.delete(number)
  }
  // Sends a request to `input_actor.js` in the tab of a page. Returns null if it is not loaded
  // there.
  const callActor = async (id, name, data) => {
    const messages = page(id).embedderElement?.messageManager
    if (!messages || !actors.has(messages)) return null
    const { failure, result } = await new Promise((resolve) => {
      pending.set(++lastNumber, { by: messages, resolve, context: id, click: data.click })
      messages.sendAsyncMessage(name, { ...data, number: lastNumber })
    })
    if (failure) throw new Error(failure)
    return { result }
  }
  window.messageManager.addMessageListener('troupe:loaded', ({ target }) =>
    actors.add(target.messageManager)
  )
  window.messageManager.addMessageListener('troupe:done', ({ data }) => settle(data.number, data))
  window.messageManager.addMessageListener(
    'troupe:progress',
    ({ data: { number, ...progress } }) => {
      const { context, click } = pending.get(number) ?? {}
      if (context) send({ click: { context, click, ...progress } })
    }
  )

  // The requests of documents by channel id, until the document has the response.
  const requests = new Map()
  window.messageManager.addMessageListener(
    'troupe:request-sent',
    ({ target, data: { channel, frame, kind } }) => {
      const context = BrowsingContext.get(frame)
      if (!context) return
      const id = NavigableManager.getIdForBrowsingContext(context)
      requests.set(channel, { by: target.messageManager, context: id })
      send({ requestSent: { context: id, channel, kind } })
    }
  )
  const requestFinished = (channel) => {
    const request = requests.get(channel)
    if (!request) return
    requests.delete(channel)
    send({ requestFinished: { context: request.context, channel } })
  }
  window.messageManager.addMessageListener('troupe:request-finished', ({ data }) =>
    requestFinished(data.channel)
  )
  // The parent process has the whole response. A document that does not read it never reports the
  // end.
  const responseReceived = (channel) => {
    const request = channel instanceof Ci.nsIIdentChannel && requests.get(channel.channelId)
    if (request)
      send({ responseReceived: { context: request.context, channel: channel.channelId } })
  }
  for (const topic of ['stop-request', 'failed-opening-request'])
    Services.obs.addObserver(responseReceived, `http-on-${topic}`)

  // A tab was closed, or continues in another process.
  Services.obs.addObserver((messages) => {
    for (const [channel, { by }] of requests) if (by === messages) requestFinished(channel)
    for (const [number, { by }] of pending)
      if (by === messages)
        settle(number, { failure: 'DiscardedBrowsingContextError: the page is closed' })
  }, 'message-manager-disconnect')
  window.messageManager.loadFrameScript(
    `data:application/javascript;charset=utf-8,${encodeURIComponent(frameScript)}`,
    true
  )

  globalThis.troupe = {
    // Dispatches mouse events. Returns false if `input_actor.js` is not loaded in the tab.
    dispatchMouse: async (id, focus, events) =>
      (await callActor(id, 'troupe:point', { focus, events })) !== null,
    // Calls Troupe's script in the page (`check`), clicks at the point in its result, and calls the
    // script again (`then`). Returns the second result, and reports the progress of the `click`.
    // Does not click after `time` milliseconds.
    click: async (id, click, time, check, events, then) =>
      (
        await callActor(id, 'troupe:click', {
          click,
          until: Date.now() + time,
          check,
          events,
          then
        })
      )?.result,
    // Returns the outermost ancestor of the frame `id` in the same process.
    processRoot(id) {
      const process = (context) => context.currentWindowGlobal?.osPid
      let root = NavigableManager.getBrowsingContextById(id)
      while (root?.parent && process(root.parent) === process(root)) root = root.parent
      return root ? NavigableManager.getIdForBrowsingContext(root) : null
    },
    // Limits the speed of the tabs of a user context, or of single `tabs`, which share the limit.
    // `download` and `upload` are bytes per second, 0 for no limit. `latency` is in milliseconds.
    throttle({ userContext, tabs }, download, upload, latency) {
      const ids = tabs ?? [UserContextManager.getInternalIdById(userContext)]
      for (const former of new Set(ids.map((id) => throttles.get(id)))) former?.destroy()
      for (const id of ids) throttles.delete(id)
      if (!download && !upload && !latency) return
      const [down, up] = [download || Number.MAX_SAFE_INTEGER, upload]
      const manager = new NetworkThrottleManager({
        downloadBPSMean: down,
        downloadBPSMax: down,
        uploadBPSMean: up,
        uploadBPSMax: up,
        latencyMean: latency,
        latencyMax: latency
      })
      for (const id of ids) throttles.set(id, manager)
    },
    // Its result arrives after all messages that were sent before.
    flush: () => true,
    title: (id) => page(id).embedderElement?.contentTitle ?? '',
    stop: (id) => page(id).stop(Ci.nsIWebNavigation.STOP_ALL),
    stopScript(id) {
      const loader = page(id).embedderElement.frameLoader
      terminating.set(loader, Date.now() + REPORT_TIMEOUT)
      for (const report of hanging)
        if (report.isReportForBrowserOrChildren(loader)) report.terminateScript()
    },
    // BiDi's command returns only after a `beforeunload` dialog is answered.
    reload: (id) => page(id).reload(Ci.nsIWebNavigation.LOAD_FLAGS_NONE),
    reloadFresh: (id) =>
      page(id).reload(
        Ci.nsIWebNavigation.LOAD_FLAGS_BYPASS_CACHE | Ci.nsIWebNavigation.LOAD_FLAGS_BYPASS_PROXY
      ),
    // Returns the URL of the history entry that is `steps` from the current one.
    historyEntry(id, steps) {
      const { sessionHistory: history } = page(id)
      const index = history.index + steps
      return index >= 0 && index < history.count ? history.getEntryAtIndex(index).URI.spec : null
    },
    forgetHistory(id) {
      const history = page(id).sessionHistory
      if (history.count > 1) history.purgeHistory(history.count - 1)
    },
    select(id) {
      gBrowser.selectedTab = gBrowser.getTabForBrowser(page(id).embedderElement)
    },
    touch: (id) => {
      page(id).touchEventsOverride = 'enabled'
    },
    // Sets the properties that override media features. Returns the name of one that this Firefox
    // does not have, or whose value it does not support; else null.
    media(id, overrides) {
      const context = page(id)
      let refused = null
      for (const [name, value] of Object.entries(overrides)) {
        const isCleared = value === '' || value === 'none'
        if (name in context) context[name] = value
        if (context[name] !== value && !(isCleared && !(name in context))) refused = name
      }
      return refused
    }
  }
}
