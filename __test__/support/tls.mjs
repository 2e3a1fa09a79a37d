// The certificates and keys of the test servers.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Returns the path of a certificate or key. @param {string} name */
export const tlsFile = (name) => fileURLToPath(new URL(`tls/${name}.pem`, import.meta.url))

/** The key and the self-signed certificate of a TLS server. */
export const IDENTITY = {
  key: readFileSync(tlsFile('key')),
  cert: readFileSync(tlsFile('certificate'))
}

/** The environment variables of a program that trusts this certificate. */
export const TRUST = { SSL_CERT_FILE: tlsFile('certificate') }
