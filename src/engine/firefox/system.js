// Runs in the browser's own window, with its rights: what BiDi has no words for.
// `handsScript` is what runs beside the documents,
// `headless` whether nobody sees the window.
// eslint-disable-next-line @typescript-eslint/no-unused-vars -- the whole file is the function that is called
function connect(handsScript, headless) {
  const { UserContextManager } = ChromeUtils.importESModule(
    'chrome://remote/content/shared/UserContextManager.sys.mjs'
  )
  const { NavigableManager } = ChromeUtils.importESModule(
    'chrome://remote/content/shared/NavigableManager.sys.mjs'
  )
  const { RemoteAgent } = ChromeUtils.importESModule(
    'chrome://remote/content/components/RemoteAgent.sys.mjs'
  )
  // Tells us, as an event of BiDi's. What one of its channels tells comes some turns later, after answers that have come since.
  const tell = (data) =>
    RemoteAgent.webDriverBiDi?.session?.messageHandler.emit('message-handler-protocol-event', {
      name: 'troupe.told',
      data
    })

  const page = (id) => {
    const context = NavigableManager.getBrowsingContextById(id)?.top
    if (!context) throw new Error('the page is gone')
    return context
  }

  // Several pages are in use at once: each is painted and thinks itself visible, whichever tab is in front.
  const show = (tab) => {
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
  for (const tab of gBrowser.tabs) show(tab)
  // Where the tab leads that a page is opening right now: known with the tab, while BiDi tells it when it begins.
  let leads
  const opening = (windows) => {
    for (const name of ['createContentWindowInFrame', 'openURIInFrame']) {
      const open = windows[name]
      windows[name] = function (uri, ...others) {
        leads = uri?.spec
        try {
          return open.call(this, uri, ...others)
        } finally {
          leads = undefined
        }
      }
    }
  }
  try {
    opening(
      ChromeUtils.importESModule('resource:///modules/BrowserDOMWindow.sys.mjs').BrowserDOMWindow
        .prototype
    )
  } catch {
    // Other versions have it elsewhere: what BiDi tells has to do there.
  }
  // BiDi reports a window that a link opens (with Shift) once that has loaded; by then the click may have been answered.
  try {
    const { URILoadingHelper } = ChromeUtils.importESModule(
      'resource:///modules/URILoadingHelper.sys.mjs'
    )
    const open = URILoadingHelper.openLinkIn
    URILoadingHelper.openLinkIn = function (from, url, where, params) {
      if (where === 'window' && url)
        tell({
          window: { userContext: UserContextManager.getIdByInternalId(params.userContextId ?? 0) }
        })
      return open.call(this, from, url, where, params)
    }
  } catch {
    // Other versions have it elsewhere: such a window can be missing in the result of the click.
  }
  gBrowser.tabContainer.addEventListener('TabRemotenessChange', ({ target }) => show(target))
  gBrowser.tabContainer.addEventListener('TabOpen', ({ target }) => {
    show(target)
    // BiDi tells of it a moment later; by then what has opened it may have been answered.
    const userContext = UserContextManager.getIdByInternalId(target.userContextId ?? 0)
    tell({
      tab: { userContext, context: NavigableManager.getIdForBrowser(target.linkedBrowser), leads }
    })
  })

  window.addEventListener(
    'oop-browser-crashed',
    ({ target }) => tell({ crashed: { context: NavigableManager.getIdForBrowser(target) } }),
    true
  )

  // A dialog is told of only once it is drawn; by then what has opened it may have been answered.
  window.addEventListener(
    'DOMWillOpenModalDialog',
    ({ target }) => {
      if (target.localName === 'browser')
        tell({ dialog: { context: NavigableManager.getIdForBrowser(target) } })
    },
    true
  )

  // The browser's own menu of a right press: nobody would choose from it, and while it is open the browser may stand still.
  if (headless) {
    document
      .getElementById('contentAreaContextMenu')
      ?.addEventListener('popupshowing', (event) => event.preventDefault(), true)
  }

  // Scripts that run for too long, as the browser reports them.
  const hanging = new Set()
  // The pages whose next one is to end, and until when: a script is reported again each second.
  const unwanted = new Map()
  const REPORTED_WITHIN = 2500
  const reported = (report) => {
    hanging.add(report.QueryInterface(Ci.nsIHangReport))
    for (const [loader, until] of unwanted) {
      const of = report.isReportForBrowserOrChildren(loader)
      if (of && Date.now() < until) report.terminateScript()
      if (of || Date.now() >= until) unwanted.delete(loader)
    }
  }
  Services.obs.addObserver(reported, 'process-hang-report')
  Services.obs.addObserver(
    (report) => hanging.delete(report.QueryInterface(Ci.nsIHangReport)),
    'clear-hang-report'
  )

  // Slow networks, by the browser's own number of a user context.
  const { NetworkThrottleManager } = ChromeUtils.importESModule(
    'resource://devtools/shared/network-observer/NetworkThrottleManager.sys.mjs'
  )
  const throttles = new Map()
  const throttleOf = (channel) => throttles.get(channel.loadInfo?.originAttributes.userContextId)
  const sent = (channel) =>
    throttleOf(channel.QueryInterface(Ci.nsIHttpChannel))?.manageUpload(channel)
  const answered = (channel) =>
    throttleOf(channel.QueryInterface(Ci.nsIHttpChannel))?.manage(
      channel.QueryInterface(Ci.nsITraceableChannel)
    )
  Services.obs.addObserver(sent, 'http-on-modify-request')
  Services.obs.addObserver(answered, 'http-on-examine-response')

  // The pointer, moved by `input_actor.js` in the process of a tab: the tabs' messages that have said that it is there.
  const hands = new WeakSet()
  // What they have not answered, by number.
  const pointing = new Map()
  let numbered = 0
  const over = (number, outcome) => {
    pointing.get(number)?.over(outcome)
    pointing.delete(number)
  }
  // Has the tab of a page do something; null where nobody is there for it.
  const handle = async (id, what, data) => {
    const messages = page(id).embedderElement?.messageManager
    if (!messages || !hands.has(messages)) return null
    const { failure, answer } = await new Promise((over) => {
      pointing.set(++numbered, { by: messages, over, context: id, press: data.press })
      messages.sendAsyncMessage(what, { ...data, number: numbered })
    })
    if (failure) throw new Error(failure)
    return { answer }
  }
  window.messageManager.addMessageListener('troupe:hands', ({ target }) =>
    hands.add(target.messageManager)
  )
  window.messageManager.addMessageListener('troupe:pointed', ({ data }) => over(data.number, data))
  window.messageManager.addMessageListener('troupe:step', ({ data: { number, ...step } }) => {
    const { context, press } = pointing.get(number) ?? {}
    if (context) tell({ step: { context, press, ...step } })
  })

  // What documents ask for, by the number of its channel, until its answer is theirs.
  const asking = new Map()
  window.messageManager.addMessageListener(
    'troupe:asks',
    ({ target, data: { channel, frame, kind } }) => {
      const context = BrowsingContext.get(frame)
      if (!context) return
      const of = NavigableManager.getIdForBrowsingContext(context)
      asking.set(channel, { by: target.messageManager, of })
      tell({ asks: { context: of, channel, kind } })
    }
  )
  const asked = (channel) => {
    const known = asking.get(channel)
    if (!known) return
    asking.delete(channel)
    tell({ asked: { context: known.of, channel } })
  }
  window.messageManager.addMessageListener('troupe:asked', ({ data }) => asked(data.channel))
  // All of an answer is here, and about to be with its document; one that nobody reads never is.
  const whole = (channel) => {
    const known = channel instanceof Ci.nsIIdentChannel && asking.get(channel.channelId)
    if (known) tell({ answered: { context: known.of, channel: channel.channelId } })
  }
  for (const topic of ['stop-request', 'failed-opening-request'])
    Services.obs.addObserver(whole, `http-on-${topic}`)

  // A tab has gone, or goes on in another process.
  Services.obs.addObserver((messages) => {
    for (const [channel, { by }] of asking) if (by === messages) asked(channel)
    for (const [number, { by }] of pointing)
      if (by === messages)
        over(number, { failure: 'DiscardedBrowsingContextError: the page has gone' })
  }, 'message-manager-disconnect')
  window.messageManager.loadFrameScript(
    `data:application/javascript;charset=utf-8,${encodeURIComponent(handsScript)}`,
    true
  )

  globalThis.troupe = {
    // Gives whether it was done: where nobody is there for it, it is BiDi's.
    point: async (id, focus, events) =>
      (await handle(id, 'troupe:point', { focus, events })) !== null,
    // Calls our script in the page, presses where its answer says, and calls it again; gives the last answer, and tells each
    // step of the `press`. Nothing is pressed once so many milliseconds are over.
    press: async (id, press, time, look, events, then) =>
      (await handle(id, 'troupe:press', { press, until: Date.now() + time, look, events, then }))
        ?.answer,
    // The outermost frame around the frame `id` that is in its process.
    processRoot(id) {
      const process = (context) => context.currentWindowGlobal?.osPid
      let root = NavigableManager.getBrowsingContextById(id)
      while (root?.parent && process(root.parent) === process(root)) root = root.parent
      return root ? NavigableManager.getIdForBrowsingContext(root) : null
    },
    // Bytes a second, 0 where there is no limit, and milliseconds.
    throttle(userContext, download, upload, latency) {
      const id = UserContextManager.getInternalIdById(userContext)
      throttles.get(id)?.destroy()
      throttles.delete(id)
      if (!download && !upload && !latency) return
      const [down, up] = [download || Number.MAX_SAFE_INTEGER, upload]
      throttles.set(
        id,
        new NetworkThrottleManager({
          downloadBPSMean: down,
          downloadBPSMax: down,
          uploadBPSMean: up,
          uploadBPSMax: up,
          latencyMean: latency,
          latencyMax: latency
        })
      )
    },
    // Answered after what was told before.
    caughtUp: () => true,
    title: (id) => page(id).embedderElement?.contentTitle ?? '',
    stop: (id) => page(id).stop(Ci.nsIWebNavigation.STOP_ALL),
    stopScript(id) {
      const loader = page(id).embedderElement.frameLoader
      unwanted.set(loader, Date.now() + REPORTED_WITHIN)
      for (const report of hanging)
        if (report.isReportForBrowserOrChildren(loader)) report.terminateScript()
    },
    // BiDi's answers only when a page that asks whether to leave was answered.
    reload: (id) => page(id).reload(Ci.nsIWebNavigation.LOAD_FLAGS_NONE),
    reloadFresh: (id) =>
      page(id).reload(
        Ci.nsIWebNavigation.LOAD_FLAGS_BYPASS_CACHE | Ci.nsIWebNavigation.LOAD_FLAGS_BYPASS_PROXY
      ),
    // The URL of the entry that is `steps` from the current one.
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
    }
  }
}
