// Emulates HTML drag and drop in one frame, in Troupe's sandbox. Firefox would start a
// native drag of the desktop, which Troupe cannot control. The script prevents the native drag and
// dispatches the drag events itself.
globalThis.__troupeDrags ??= (() => {
  let source, data, over, canceled

  const fire = (type, target, x, y) =>
    target.dispatchEvent(
      new DragEvent(type, {
        bubbles: true,
        cancelable: type !== 'dragend' && type !== 'dragleave',
        composed: true,
        view: window,
        clientX: x,
        clientY: y,
        screenX: x,
        screenY: y,
        dataTransfer: data
      })
    )

  const begin = (event) => {
    if (event.defaultPrevented) return
    source = event.composedPath()[0]
    data = new DataTransfer()
    for (const type of event.dataTransfer.types)
      data.setData(type, event.dataTransfer.getData(type))
    over = null
    event.preventDefault()
    // The page may have more listeners of `dragstart`: `dragend` comes after all of them.
    if (canceled) setTimeout(end)
  }

  const end = () => {
    if (source) fire('dragend', source, 0, 0)
    source = null
    canceled = false
    removeEventListener('dragstart', begin)
    removeEventListener('pointerup', end, true)
  }

  const move = (x, y) => {
    let target = document.elementFromPoint(x, y)
    while (
      target?.shadowRoot?.elementFromPoint(x, y) &&
      target.shadowRoot.elementFromPoint(x, y) !== target
    )
      target = target.shadowRoot.elementFromPoint(x, y)
    if (!target) return false
    fire('drag', source, x, y)
    if (over !== target) {
      fire('dragenter', target, x, y)
      if (over) fire('dragleave', over, x, y)
      over = target
    }
    // An element accepts a drop only if it cancels `dragover`.
    return !fire('dragover', target, x, y)
  }

  return {
    watch() {
      source = data = over = null
      canceled = false
      addEventListener('dragstart', begin)
    },
    over(x, y) {
      if (!source) return false
      move(x, y)
      return true
    },
    drop(x, y) {
      if (!source) return false
      if (move(x, y)) fire('drop', over, x, y)
      else if (over) fire('dragleave', over, x, y)
      fire('dragend', source, x, y)
      source = null
      return true
    },
    end,
    // Ends the drag. If none has begun, a move that is still in flight may begin one. A native drag
    // would consume the release of the button, so drags are prevented until the button is released.
    cancel() {
      if (source) return end()
      canceled = true
      addEventListener('pointerup', end, true)
    }
  }
})()
