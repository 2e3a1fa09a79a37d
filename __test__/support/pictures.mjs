// An image, and facts about images, which are read without a library.

/** A PNG image of one black pixel in base64. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=='

/** @param {string} data base64 of a PNG or JPEG */
export function sizeOf(data) {
  const bytes = Buffer.from(data, 'base64')
  if (bytes.readUInt32BE(0) === 0x89504e47)
    return { type: 'png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  for (let at = 2; at < bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1]
    // A start-of-frame segment, not a table, contains the size.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { type: 'jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    }
  }
  throw new Error('no picture')
}

/** Returns the image of a result in base64. @param {any} answer the result of `server.call` */
export function pictureOf(answer) {
  const part = answer.result?.content.find(({ type }) => type === 'image')
  if (!part) throw new Error(`no picture: ${answer.text}`)
  return part.data
}
