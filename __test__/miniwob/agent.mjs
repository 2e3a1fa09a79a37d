// The interface of a policy: the text of the task, and the server's tools with their results.

/**
 * A line of a snapshot.
 * @typedef {{ role: string, name: string, text: string, ref: string, hint: string, states: string,
 *   depth: number }} Line
 *   `text` follows the colon; `hint` is the tag, class or id of an element without a name
 */

/**
 * @typedef {(tool: string, args?: object) => Promise<any>} Call calls a tool; resolves to the
 *   result as JSON or text
 */

export class Agent {
  calls = 0
  bytes = 0
  #call

  /** @param {string} utterance @param {Call} call */
  constructor(utterance, call) {
    this.utterance = utterance
    this.#call = call
  }

  /** The texts in double quotes in the task. */
  get quoted() {
    return [...this.utterance.matchAll(/"([^"]*)"/g)].map(([, text]) => text)
  }

  /** @param {string} tool @param {object} [args] */
  async act(tool, args) {
    this.calls++
    const result = await this.#call(tool, args)
    this.bytes += Buffer.byteLength(typeof result === 'string' ? result : JSON.stringify(result))
    return result
  }

  /** The page as lines. @param {object} [args] */
  async see(args) {
    return new View(parse(await this.act('snapshot', args)))
  }

  /**
   * The elements that match a CSS selector, with `ref`, `tag`, `text` and `attributes`.
   * @param {string} selector @returns {Promise<any[]>}
   */
  async list(selector) {
    return (await this.act('find_elements', { selector })).elements
  }

  /** An element's box in the viewport. @param {string} selector */
  async box(selector) {
    return (await this.act('find_element', { selector })).box
  }

  /** @param {Line | string} target @param {object} [args] */
  click(target, args) {
    return this.act('click', { selector: refOf(target), ...args })
  }

  /** @param {Line | string} target @param {string} value */
  fill(target, value) {
    return this.act('fill', { selector: refOf(target), value })
  }

  /**
   * Fills several fields, checks several boxes.
   * @param {[Line | string, string | boolean][]} fields
   */
  fillAll(fields) {
    return this.act('fill_form', {
      fields: fields.map(([target, value]) => ({ selector: refOf(target), value }))
    })
  }

  /** @param {Line | string} target @param {string} text @param {object} [args] */
  type(target, text, args) {
    return this.act('type', { selector: refOf(target), text, ...args })
  }

  /** @param {string} key @param {Line | string} [target] focused first */
  press(key, target) {
    return this.act('press', { key, ...(target && { selector: refOf(target) }) })
  }

  /** @param {Line | string} target @param {string | string[]} value */
  select(target, value) {
    return this.act('select', { selector: refOf(target), value })
  }

  /** @param {Line | string} target */
  hover(target) {
    return this.act('hover', { selector: refOf(target) })
  }

  /** @param {Line | string} source @param {Line | string} target @param {object} [args] */
  drag(source, target, args) {
    return this.act('drag_and_drop', { source: refOf(source), target: refOf(target), ...args })
  }
}

/** @param {Line | string} target */
const refOf = (target) => (typeof target === 'string' ? target : target.ref)

/** The lines of a snapshot, and ways to find one. */
export class View {
  /** @param {Line[]} lines */
  constructor(lines) {
    this.lines = lines
  }

  /**
   * Every line with that role, and that name or text if given.
   * @param {string} role
   * @param {string | RegExp} [name]
   */
  all(role, name) {
    return this.lines.filter((line) => line.role === role && matches(line, name))
  }

  /**
   * The `index`th of these lines, which must exist.
   * @param {string} role @param {string | RegExp} [name] @param {number} [index]
   */
  get(role, name, index = 0) {
    const line = this.all(role, name).at(index)
    if (!line) throw new Error(`no ${role} ${name ?? ''} (${index}) in\n${this}`)
    return line
  }

  /** The first line with a ref and that name or text, if any. @param {string | RegExp} name */
  withText(name) {
    return this.lines.find((line) => line.ref && matches(line, name))
  }

  /** As `withText`; the line must exist. @param {string | RegExp} name */
  named(name) {
    const line = this.withText(name)
    if (!line) throw new Error(`nothing named ${name} in\n${this}`)
    return line
  }

  /** The lines after a line. @param {Line | undefined} line */
  after(line) {
    return new View(this.lines.slice(this.lines.indexOf(/** @type {Line} */ (line)) + 1))
  }

  toString() {
    return this.lines
      .map(
        ({ depth, role, name, ref, text }) =>
          `${' '.repeat(depth)}${role} "${name}" ${ref}: ${text}`
      )
      .join('\n')
  }
}

/** @param {Line} line @param {string | RegExp} [name] */
function matches(line, name) {
  if (name === undefined) return true
  return [line.name, line.text].some((text) =>
    typeof name === 'string' ? text === name : name.test(text)
  )
}

/** @param {string} snapshot @returns {Line[]} */
export function parse(snapshot) {
  return snapshot.split('\n').flatMap((raw) => {
    const [, indent, quotedKey, rest] = /^(\s*)- ('?)(.*)$/.exec(raw) ?? []
    if (rest === undefined) return []
    // YAML quotes a key that has a colon or a hash in it, with two apostrophes for one.
    const line = quotedKey ? rest.replace(/'(?=:|$)/, '').replaceAll("''", "'") : rest
    const [, role, name, attributes, text] =
      /^([\w/]+)(?: "((?:[^"\\]|\\.)*)")?((?: \([^)]*\)| \[[^\]]*\])*)(?:: ?(.*))?$/.exec(line) ??
      []
    if (!role) return []
    return {
      role,
      name: unquote(`"${name ?? ''}"`),
      text: unquote(text ?? ''),
      ref: /\[ref=(\w+)\]/.exec(attributes)?.[1] ?? '',
      hint: /\(([^)]*)\)/.exec(attributes)?.[1] ?? '',
      states: attributes,
      depth: indent.length
    }
  })
}

/** @param {string} text a YAML scalar */
function unquote(text) {
  if (!/^".*"$/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text.slice(1, -1)
  }
}
