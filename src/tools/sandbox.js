// The part of the sandbox that runs in the engine, before the script. `sandbox.rs` calls this
// function. The script may change every global object later, so this function first stores the
// globals that it uses after the start of the script. These copies are not a security boundary: the
// server checks each call as if an agent had made it.
;(setupText, print, load) => {
  'use strict'
  const { Array, Error, Promise, RangeError, RegExp, String, TypeError } = globalThis
  const { parse, stringify } = JSON
  const { apply, ownKeys } = Reflect
  const { freeze, defineProperty } = Object
  const { isArray } = Array
  const { then } = Promise.prototype
  const { tools, sessionId, args, maxCalls, maxLength, maxComparisons, maxNormalized } =
    parse(setupText)
  const module = { exports: {} }
  load(module)
  const { sessionMethods, argumentsOf } = module.exports

  /** The calls that have not begun, as a linked list: `first.next.next…`. */
  let first
  let last
  let count = 0
  let running
  /** The failed calls, as a linked list too. */
  let failed
  let outcome

  /** The promise of a call. Records whether anything waits for it. */
  class Call extends Promise {
    #record
    constructor(record) {
      super((resolve, reject) => {
        record.resolve = resolve
        record.reject = reject
      })
      this.#record = record
    }
    then(onResolved, onRejected) {
      this.#record.isObserved = true
      return apply(then, this, [onResolved, onRejected])
    }
    static get [Symbol.species]() {
      return Promise
    }
  }

  /** The error of a call, like that of the Node library. */
  class TroupeError extends Error {
    #id
    constructor({ errorCode, message, sessionId, details, retryable, suggestion }, id) {
      super(message)
      this.name = 'TroupeError'
      this.code = errorCode
      this.sessionId = sessionId
      this.details = details
      this.retryable = retryable
      this.suggestion = suggestion
      this.#id = id
    }
    static idOf(error) {
      return #id in error ? error.#id : undefined
    }
  }
  const { idOf } = TroupeError

  function call(method, values) {
    let text
    try {
      text = stringify(argumentsOf(method, values))
    } catch (error) {
      throw new TypeError(`${error.message}\nSignature: ${method.signature}`)
    }
    if (count >= maxCalls) throw new RangeError(`a script makes at most ${maxCalls} calls`)
    count += 1
    const record = { __proto__: null, id: count, method, text, stack: new Error().stack }
    record.isObserved = false
    record.next = undefined
    const promise = new Call(record)
    if (first) last.next = record
    else first = record
    last = record
    return promise
  }

  const session = { __proto__: null, id: sessionId }
  for (const method of sessionMethods(tools)) {
    session[method.name] = (...values) => call(method, values)
  }
  freeze(session)

  function shown(value) {
    if (typeof value === 'string') return value
    if (value instanceof Error) return `${value.name}: ${value.message}`
    return stringify(value) ?? String(value)
  }

  const console = { __proto__: null }
  for (const level of ['log', 'info', 'warn', 'error', 'debug']) {
    console[level] = (...values) => {
      let line = ''
      for (let at = 0; at < values.length; at++) line += `${at > 0 ? ' ' : ''}${shown(values[at])}`
      print(line)
    }
  }
  freeze(console)

  // The engine's own loops do not check whether the time is over, and an array without elements can
  // have any length. So array methods take only arrays up to a maximum length, and each step of an
  // array iterator runs in JavaScript, where the engine checks the time.
  function checkLength(value) {
    if (isArray(value) && value.length > maxLength) {
      throw new RangeError(`an array has more than ${maxLength} elements`)
    }
  }
  // These methods read further arrays, whose lengths may change after the check. So they run in
  // JavaScript.
  const inScript = {
    flat(depth = 1) {
      return flatten(this, depth)
    },
    flatMap(callback, thisValue) {
      return flatten(apply(map, this, [callback, thisValue]), 1)
    },
    concat() {
      const lists = [this]
      for (let at = 0; at < arguments.length; at++) append(lists, arguments[at])
      return flatten(lists, 1)
    }
  }
  const { map } = Array.prototype
  function append(list, value) {
    defineProperty(list, list.length, {
      __proto__: null,
      value,
      writable: true,
      enumerable: true,
      configurable: true
    })
  }
  function flatten(list, depth, flat = []) {
    for (let at = 0; at < list.length; at++) {
      if (!(at in list)) continue
      const value = list[at]
      if (depth > 0 && isArray(value)) flatten(value, depth - 1, flat)
      else append(flat, value)
    }
    return flat
  }
  for (const key of ownKeys(Array.prototype)) {
    const original = inScript[key] ?? Array.prototype[key]
    if (typeof original !== 'function' || key === 'constructor') continue
    const method = function (...values) {
      if (!isArray(this)) {
        throw new TypeError(`Array.prototype.${String(key)} takes arrays only: use Array.from`)
      }
      checkLength(this)
      for (let at = 0; at < values.length; at++) checkLength(values[at])
      return apply(original, this, values)
    }
    defineProperty(Array.prototype, key, { value: method })
  }
  const iterator = Reflect.getPrototypeOf([][Symbol.iterator]())
  const { next } = iterator
  defineProperty(iterator, 'next', {
    value() {
      return apply(next, this, [])
    }
  })
  defineProperty(JSON, 'stringify', {
    value(value, replacer, space) {
      checkLength(replacer)
      return stringify(value, replacer, space)
    }
  })
  // The time of a search can be proportional to the product of both lengths. The time to normalize
  // a text can be proportional to the square of its length.
  const searches = {
    indexOf: undefined,
    lastIndexOf: undefined,
    includes: undefined,
    replace: Symbol.replace,
    replaceAll: Symbol.replace,
    split: Symbol.split
  }
  for (const key of ownKeys(searches)) {
    const original = String.prototype[key]
    const symbol = searches[key]
    const method = function (search, other) {
      if (this === undefined || this === null) {
        throw new TypeError(`String.prototype.${key} takes a text`)
      }
      const isObject = typeof search === 'object' || typeof search === 'function'
      if (symbol && isObject && search !== null) {
        if (key === 'replaceAll' && search instanceof RegExp && !search.global) {
          throw new TypeError('replaceAll takes a regular expression with the flag g')
        }
        const own = search[symbol]
        if (own !== undefined && own !== null) return apply(own, search, [this, other])
      }
      const text = `${this}`
      const pattern = key === 'split' && search === undefined ? search : `${search}`
      if (pattern !== undefined && text.length * pattern.length > maxComparisons) {
        throw new RangeError(`the texts of String.prototype.${key} are too long`)
      }
      return apply(original, text, [pattern, other])
    }
    defineProperty(String.prototype, key, { value: method })
  }
  for (const key of ['normalize', 'localeCompare']) {
    const original = String.prototype[key]
    const method = function (other) {
      const texts = [`${this}`, other === undefined ? other : `${other}`]
      for (const text of texts) {
        if (text !== undefined && text.length > maxNormalized) {
          throw new RangeError(
            `String.prototype.${key} takes texts of at most ${maxNormalized} characters`
          )
        }
      }
      return apply(original, texts[0], [texts[1]])
    }
    defineProperty(String.prototype, key, { value: method })
  }
  delete globalThis.SharedArrayBuffer
  delete globalThis.Atomics

  /** Copies an object without its prototype, to which the script may have added `toJSON`. */
  function plain(object) {
    return { __proto__: null, ...object }
  }

  function described(error) {
    try {
      if (typeof error !== 'object' || error === null) {
        return stringify(plain({ thrown: plain({ message: String(error) }) }))
      }
      if (idOf(error)) return stringify(plain({ failure: idOf(error) }))
      const { name, message, stack } = error
      const thrown = {
        name: name === undefined ? null : String(name),
        message: String(message === undefined ? error : message),
        stack: String(stack)
      }
      return stringify(plain({ thrown: plain(thrown) }))
    } catch {
      return '{"thrown": {"message": "a value that cannot be converted to text"}}'
    }
  }

  return {
    /** Starts the script, an async function. */
    start(script) {
      apply(then, apply(script, undefined, [session, args, console]), [
        (value) => {
          outcome = { value }
        },
        (error) => {
          outcome = { error }
        }
      ])
    },
    /**
     * Takes the next call. After a failure of the script, calls that have not begun are dropped.
     */
    take() {
      if (!first || (outcome && 'error' in outcome)) return undefined
      running = first
      first = first.next
      const { method, text, stack } = running
      return [method.tool, method.name, text ?? '{}', String(stack)]
    },
    /** Ends the call that was taken last. */
    settle(isFailure, text) {
      const { id, resolve, reject } = running
      const value = parse(text)
      if (!isFailure) return resolve(value)
      running.next = failed
      failed = running
      reject(new TroupeError(value, id))
    },
    /** Returns the outcome as JSON. */
    finish() {
      if (!outcome) return '{"pending": true}'
      if ('error' in outcome) return described(outcome.error)
      for (let record = failed; record; record = record.next) {
        if (!record.isObserved) return stringify(plain({ failure: record.id }))
      }
      try {
        return `{"value": ${stringify(outcome.value) ?? 'null'}}`
      } catch (error) {
        return described(error)
      }
    },
    described
  }
}
