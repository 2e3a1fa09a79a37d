/** YAML scalars as Playwright writes them. */

/** Texts other than numbers that YAML does not read as strings. */
const special =
  /^$|^\s|\s$|[\0-\x08\n\x0b\x0c\r\x0e-\x1f\x7f-\x9f]|^-|:(?:\s|$)|\s#|^[&*\],?!>|@"'#%[]|[{}`]|^(?:y|n|yes|no|true|false|on|off|null)$/i

/** Texts that are never special, longer than each word and number in letters. */
const plain = /^[a-z][\w ,.()/+-]{8,}$/i

const needsQuotes = (text: string): boolean =>
  !plain.test(text) && (special.test(text) || !isNaN(Number(text)))

/** Characters that are special in a key, which begins with a role. */
const specialInKey = /[\0-\x08\n\x0b\x0c\r\x0e-\x1f\x7f-\x9f{}`]|:(?:\s|$)|\s#/

export const yamlKey = (text: string): string =>
  specialInKey.test(text) ? `'${text.replace(/'/g, "''")}'` : text

const escapes: Record<string, string> = {
  '\\': '\\\\',
  '"': '\\"',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t'
}

export const yamlValue = (text: string): string =>
  needsQuotes(text)
    ? `"${text.replace(
        /[\\"\0-\x1f\x7f-\x9f]/g,
        (char) => escapes[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`
      )}"`
    : text
