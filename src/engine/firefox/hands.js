// Runs beside the documents of each tab, in their process and with the browser's rights: moves and presses the pointer,
// and tells what the documents ask for.
{
  // BiDi's own `performActions` comes from the browser's process with each event and waits for it there: five ways for a
  // click.
  const { event } = ChromeUtils.importESModule('chrome://remote/content/shared/webdriver/Event.sys.mjs')
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

  addMessageListener('troupe:point', async ({ data: { number, focus, events } }) => {
    let failure
    try {
      if (focus && !content.document.hasFocus()) content.focus()
      for (const event of events) {
        dispatch(event)
        // What an event has queued comes before the next, and has come when they are over.
        await nextTask()
      }
    } catch (error) {
      // A page that is being left has no window.
      failure = content ? String(error) : 'DiscardedBrowsingContextError: the page has gone'
    }
    sendAsyncMessage('troupe:pointed', { number, failure })
  })

  // BiDi tells of a request only when its proxy is known, some turns of the browser's process after the document has asked;
  // what has come of an action may have been looked at by then.
  const KINDS = new Map([
    [Ci.nsIContentPolicy.TYPE_SCRIPT, 'script'],
    [Ci.nsIContentPolicy.TYPE_XMLHTTPREQUEST, 'fetch'],
    [Ci.nsIContentPolicy.TYPE_FETCH, 'fetch']
  ])
  const asked = new Set()
  const opening = (channel) => {
    const { browsingContext: frame, externalContentPolicyType } = channel.QueryInterface(Ci.nsIChannel).loadInfo ?? {}
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
