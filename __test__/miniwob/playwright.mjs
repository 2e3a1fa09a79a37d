// Troupe's tools, implemented with those of @playwright/mcp where it has a counterpart, so that the
// policies run on both.
import { parse } from './agent.mjs'

/**
 * What has no counterpart: a tool that lists the elements of a CSS selector with their attributes.
 */
export const NO_COUNTERPART = 'no tool for it, other than one that runs code'

export class PlaywrightTools {
  calls = 0
  bytes = 0
  #focused = ''

  /** @param {import('../support/rpc.mjs').RpcClient} client */
  constructor(client) {
    this.client = client
  }

  /**
   * Calls one of its own tools.
   * @param {string} tool
   * @param {object} args
   * @returns {Promise<string>}
   */
  async own(tool, args) {
    this.calls++
    const { text, isError, error } = await this.client.call(`browser_${tool}`, args)
    this.bytes += Buffer.byteLength(text)
    if (isError || error) throw new Error(`${tool}: ${text || JSON.stringify(error)}`)
    return text
  }

  /**
   * The result of a function in the page, for the harness alone.
   * @param {string} script
   * @returns {Promise<any>}
   */
  async evaluate(script) {
    const text = await this.own('evaluate', { function: script })
    return JSON.parse(/### Result\n([^]*?)(?:\n###|$)/.exec(text)?.[1] ?? 'null')
  }

  /** @param {string} [target] @param {boolean} [boxes] */
  async #snapshot(target, boxes = false) {
    const text = await this.own('snapshot', { ...(target && { target }), ...(boxes && { boxes }) })
    return /```yaml\n([^]*?)\n?```/.exec(text)?.[1] ?? ''
  }

  /**
   * The line of an element in a snapshot. A snapshot of one element makes the other refs invalid.
   * @param {string} target
   */
  async #line(target) {
    if (!/^(f\d+)?e\d+$/.test(target)) {
      const [line] = parse(await this.#snapshot(target, true))
      await this.#snapshot()
      return line
    }
    return parse(await this.#snapshot(undefined, true)).find(({ ref }) => ref === target)
  }

  /** @param {string} target */
  async #box(target) {
    const numbers = /\[box=([-\d.,]+)\]/.exec((await this.#line(target))?.states ?? '')?.[1]
    if (!numbers) throw new Error(`no box of ${target}`)
    const [x, y, width, height] = numbers.split(',').map(Number)
    return { x, y, width, height }
  }

  /**
   * A point of an element, by default its center, in the viewport.
   * @param {string} target
   * @param {{ x: number, y: number }} [position]
   */
  async #point(target, position) {
    const { x, y, width, height } = await this.#box(target)
    return position
      ? { x: x + position.x, y: y + position.y }
      : { x: x + width / 2, y: y + height / 2 }
  }

  /** One of Troupe's tools. @param {string} tool @param {any} args @returns {Promise<any>} */
  async call(tool, args = {}) {
    const { selector: target, position } = args
    const element = 'element'
    if (tool !== 'press') this.#focused = ''
    switch (tool) {
      case 'snapshot':
        return asTroupe(await this.#snapshot())
      case 'click': {
        if (!position && args.clickCount !== 3) {
          await this.own('click', { element, target, doubleClick: args.clickCount === 2 })
          return {}
        }
        const clickCount = args.clickCount ?? 1
        await this.own('mouse_click_xy', { ...(await this.#point(target, position)), clickCount })
        return {}
      }
      case 'hover':
        if (position) await this.own('mouse_move_xy', await this.#point(target, position))
        else await this.own('hover', { element, target })
        return {}
      case 'fill':
        await this.own('type', { element, target, text: args.value })
        return {}
      case 'type':
        await this.own('type', {
          element,
          target,
          text: args.text,
          slowly: true,
          submit: args.submit
        })
        return {}
      case 'fill_form': {
        const fields = args.fields.map(({ selector, value }) => ({
          target: selector,
          name: 'field',
          type: typeof value === 'boolean' ? 'checkbox' : 'textbox',
          value: String(value)
        }))
        await this.own('fill_form', { fields })
        return {}
      }
      case 'select':
        await this.own('select_option', { element, target, values: [args.value].flat() })
        return {}
      case 'press':
        // It has no way to focus an element other than a click.
        if (target && target !== this.#focused) await this.own('click', { element, target })
        this.#focused = target ?? this.#focused
        await this.own('press_key', { key: args.key })
        return {}
      case 'batch':
        for (const step of args.steps) await this.call(step.tool, step.arguments)
        return {}
      case 'drag_and_drop':
        await this.#drag(args)
        return {}
      case 'scroll':
        await this.own('hover', { element, target })
        if (args.x || args.y) await this.own('mouse_wheel', { deltaX: args.x, deltaY: args.y })
        return {}
      case 'wait_for':
        await this.own('wait_for', { time: args.time / 1000 })
        return {}
      case 'wait_for_selector':
        await this.own('wait_for', { time: 0.5 })
        return {}
      case 'get_text':
      case 'get_value':
        return { value: (await this.#line(target))?.text }
      case 'find_element':
        return { box: await this.#box(target) }
      default:
        throw new Error(`${tool}: ${NO_COUNTERPART}`)
    }
  }

  /** @param {any} args */
  async #drag({ source, target, sourcePosition, targetPosition, path }) {
    if (target && !sourcePosition && !targetPosition)
      return this.own('drag', {
        ...{ startElement: 'element', startTarget: source },
        ...{ endElement: 'element', endTarget: target }
      })
    const { x, y } = await this.#box(source)
    const points = path
      ? path.map((point) => ({ x: x + point.x, y: y + point.y }))
      : [await this.#point(source, sourcePosition), await this.#point(target, targetPosition)]
    await this.own('mouse_move_xy', points[0])
    await this.own('mouse_down', {})
    const along = ([from, to], part) => ({
      x: from.x + (to.x - from.x) * part,
      y: from.y + (to.y - from.y) * part
    })
    const moves = path ? points.slice(1) : [0.1, 0.4, 0.7, 1].map((part) => along(points, part))
    for (const point of moves) await this.own('mouse_move_xy', point)
    await this.own('mouse_up', {})
  }
}

/**
 * Its snapshot in Troupe's form: without containers, with plain text as text, and a line's only
 * text on that line.
 * @param {string} snapshot
 */
function asTroupe(snapshot) {
  const lines = snapshot
    .split('\n')
    .map((line) => line.replace(/ \[box=[^\]]*\]/, ''))
    .filter((line) => !/^\s*- generic( \[(?!cursor)[^\]]*\])*:?$/.test(line))
    .map((line) =>
      line.includes('[cursor=pointer]') ? line : line.replace(/^(\s*)- generic(?= )/, '$1- text')
    )
  const depth = (line) => line.search(/\S/)
  return lines
    .flatMap((line, index) => {
      const [next = '', after = ''] = lines.slice(index + 1)
      const previous = lines[index - 1] ?? ''
      const isOnlyText = (above, text, below) =>
        /:$/.test(above) &&
        /^\s*- text/.test(text) &&
        depth(text) > depth(above) &&
        depth(below) < depth(text)
      if (isOnlyText(previous, line, next)) return []
      return isOnlyText(line, next, after) ? line + next.replace(/^[^:]*:/, '') : line
    })
    .join('\n')
}
