// HTML's drag events in one frame, in our world. The browser would hand a drag over to the desktop, where nobody moves
// it on: it is stopped where it begins, and the page is told of the rest as if it went on.
globalThis.__troupeDrags ??= (() => {
  let source, data, over

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

  const begins = (event) => {
    if (event.defaultPrevented) return
    source = event.composedPath()[0]
    data = new DataTransfer()
    for (const type of event.dataTransfer.types)
      data.setData(type, event.dataTransfer.getData(type))
    over = null
    event.preventDefault()
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
    // What is not prevented takes nothing.
    return !fire('dragover', target, x, y)
  }

  return {
    watch() {
      source = data = over = null
      addEventListener('dragstart', begins)
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
    end() {
      if (source) fire('dragend', source, 0, 0)
      source = null
      removeEventListener('dragstart', begins)
    }
  }
})()
