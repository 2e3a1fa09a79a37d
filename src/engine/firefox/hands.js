// Runs beside the documents of each tab, in their process and with the browser's rights: moves and presses the pointer.
// BiDi's own `performActions` comes from the browser's process with each event and waits for it there: five ways for a
// click.
{
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
  sendAsyncMessage('troupe:hands')
}
