/**
 * Values of the structured clone algorithm as JSON, in the format of Playwright's storage state.
 * JSON values are written unchanged. Others are tagged (`{d}` a date, `{ta}` a typed array…), and
 * objects are numbered to represent cycles. `{bl}` (a blob or a file) and `{dv}` (a data view) are
 * Troupe's extensions, which other programs read as plain objects.
 */
import { realm } from './realm'

type Bytes = Uint8Array<ArrayBuffer>

const typedArrayTypes: [
  string,
  { new (buffer: ArrayBuffer): ArrayBufferView; prototype: ArrayBufferView }
][] = [
  ['i8', realm.Int8Array],
  ['ui8', realm.Uint8Array],
  ['ui8c', realm.Uint8ClampedArray],
  ['i16', realm.Int16Array],
  ['ui16', realm.Uint16Array],
  ['i32', realm.Int32Array],
  ['ui32', realm.Uint32Array],
  ['f32', realm.Float32Array],
  ['f64', realm.Float64Array],
  ['bi64', realm.BigInt64Array],
  ['bui64', realm.BigUint64Array]
]

const specialValues: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
  ['-0', -0]
]

export function toBase64(bytes: Bytes): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 0x8000)
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(text)
}

export const fromBase64 = (text: string): Bytes =>
  realm.Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))

const bytesOf = (view: ArrayBufferView): Bytes =>
  new realm.Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength).slice()

/**
 * Returns whether JSON represents a value completely. `null` must be part of a value: `null` alone
 * would look like a missing value.
 */
export function isPlain(value: unknown, ancestors: Set<unknown> = new Set()): boolean {
  if (typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (value === null) return ancestors.size > 0
  if (typeof value !== 'object' || ancestors.has(value)) return false
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== realm.Object.prototype) return false
  if (Object.prototype.hasOwnProperty.call(value, '__proto__')) return false
  ancestors.add(value)
  const parts: unknown[] = Array.isArray(value) ? Array.from(value) : Object.values(value)
  const plain = parts.every((part) => isPlain(part, ancestors))
  ancestors.delete(value)
  return plain
}

/** Encodes values. Reads the contents of all blobs concurrently at the end. */
export class Encoder {
  private readonly blobs: Promise<void>[] = []
  /** Approximate number of characters so far. */
  size = 0

  /** Waits for the contents of all blobs. */
  async finish(): Promise<void> {
    await Promise.all(this.blobs)
  }

  encode(value: unknown, seen: Map<unknown, number> = new Map()): unknown {
    this.size += 8
    if (typeof value === 'bigint') return { bi: value.toString() }
    const special = specialValues.find(([, candidate]) => Object.is(candidate, value))
    if (special) return { v: special[0] }
    if (typeof value === 'string') this.size += value.length
    if (typeof value !== 'object' || value === null) return value
    const known = seen.get(value)
    if (known !== undefined) return { ref: known }
    if (value instanceof realm.Date)
      return Number.isNaN(value.getTime()) ? { d: '' } : { d: value.toJSON() }
    if (value instanceof realm.RegExp) return { r: { p: value.source, f: value.flags } }
    if (value instanceof realm.Error)
      return { e: { n: value.name, m: value.message, s: String(value.stack ?? '') } }
    if (value instanceof realm.ArrayBuffer)
      return { ab: { b: this.bytes(new realm.Uint8Array(value)) } }
    if (value instanceof realm.DataView) return { dv: { b: this.bytes(bytesOf(value)) } }
    if (realm.ArrayBuffer.isView(value)) {
      const kind = typedArrayTypes.find(([, type]) => value instanceof type)
      return kind ? { ta: { b: this.bytes(bytesOf(value)), k: kind[0] } } : { v: 'undefined' }
    }
    if (value instanceof realm.Blob) return this.blob(value)
    if (
      value instanceof realm.String ||
      value instanceof realm.Number ||
      value instanceof realm.Boolean
    )
      return this.encode(value.valueOf(), seen)
    const id = seen.size + 1
    seen.set(value, id)
    const pairs = (entries: Iterable<[unknown, unknown]>): object[] =>
      Array.from(entries, ([k, v]) => ({ k: this.encode(k, seen), v: this.encode(v, seen) }))
    if (value instanceof realm.Map) return { m: pairs(value), id }
    if (value instanceof realm.Set)
      return { s: Array.from(value, (item) => this.encode(item, seen)), id }
    if (Array.isArray(value))
      return { a: Array.from(value as unknown[], (item) => this.encode(item, seen)), id }
    return {
      o: Object.entries(value).map(([k, v]) => {
        this.size += k.length
        return { k, v: this.encode(v, seen) }
      }),
      id
    }
  }

  /** Returns a part of a record: as `name` if it is plain JSON, else as `nameEncoded`. */
  part(name: string, value: unknown): Record<string, unknown> {
    if (!isPlain(value)) return { [`${name}Encoded`]: this.encode(value) }
    this.size += JSON.stringify(value).length
    return { [name]: value }
  }

  private bytes(bytes: Bytes): string {
    this.size += bytes.length * 1.4
    return toBase64(bytes)
  }

  private blob(blob: Blob): object {
    const { size, type } = blob
    this.size += size * 1.4
    const encoded: { b: string; t: string; n?: string } = { b: '', t: type }
    if (blob instanceof realm.File) encoded.n = blob.name
    // If the blob is too large, its database is not saved anyway.
    if (this.size < maxSize)
      this.blobs.push(
        blob
          .arrayBuffer()
          .then((buffer) => void (encoded.b = toBase64(new realm.Uint8Array(buffer))))
      )
    return { bl: encoded }
  }
}

/** Maximum total size of an origin's databases, in characters. Larger ones are not saved. */
export const maxSize = 16 << 20

interface Pair {
  k: unknown
  v: unknown
}

/** A tagged value, which has one of these properties. */
interface Tagged {
  ref?: number
  v?: string
  d?: string
  u?: string
  bi?: string
  r?: { p: string; f: string }
  e?: { n: string; m: string; s: string }
  ab?: { b: string }
  dv?: { b: string }
  ta?: { b: string; k: string }
  bl?: { b: string; t: string; n?: string }
  a?: unknown[]
  m?: Pair[]
  s?: unknown[]
  o?: { k: string; v: unknown }[]
  id?: number
}

/** Decodes a value that Troupe or Playwright has encoded. */
export function decode(encoded: unknown, known: Map<number, unknown> = new Map()): unknown {
  if (typeof encoded !== 'object' || encoded === null) return encoded
  const { ref, v, d, u, bi, r, e, ab, dv, ta, bl, a, m, s, o, id } = encoded as Tagged
  if (ref !== undefined) return known.get(ref)
  if (v !== undefined) return specialValues.find(([name]) => name === v)?.[1]
  if (d !== undefined) return new realm.Date(d || NaN)
  if (u !== undefined) return u
  if (bi !== undefined) return BigInt(bi)
  if (r) return new realm.RegExp(r.p, r.f)
  if (e) return Object.assign(new realm.Error(e.m), { name: e.n, stack: e.s })
  if (ab) return fromBase64(ab.b).buffer
  if (dv) return new realm.DataView(fromBase64(dv.b).buffer)
  if (ta) {
    const kind = typedArrayTypes.find(([name]) => name === ta.k)
    if (!kind) throw new Error(`unknown typed array \`${ta.k}\``)
    return new kind[1](fromBase64(ta.b).buffer)
  }
  if (bl)
    return bl.n === undefined
      ? new realm.Blob([fromBase64(bl.b)], { type: bl.t })
      : new realm.File([fromBase64(bl.b)], bl.n, { type: bl.t })
  const fill = <Made>(made: Made, add: (made: Made) => void): Made => {
    // Registered before its parts are decoded, because they may refer to it.
    if (id !== undefined) known.set(id, made)
    add(made)
    return made
  }
  if (a)
    return fill(new realm.Array<unknown>(), (made) =>
      a.forEach((item) => made.push(decode(item, known)))
    )
  if (m)
    return fill(new realm.Map(), (made) =>
      m.forEach((pair) => made.set(decode(pair.k, known), decode(pair.v, known)))
    )
  if (s) return fill(new realm.Set(), (made) => s.forEach((item) => made.add(decode(item, known))))
  if (o) {
    return fill(new realm.Object(), (made) => {
      // Properties are defined, not assigned, so that `__proto__` is an ordinary property.
      for (const { k, v } of o)
        Object.defineProperty(made, k, {
          value: decode(v, known),
          configurable: true,
          enumerable: true,
          writable: true
        })
    })
  }
  return encoded
}
