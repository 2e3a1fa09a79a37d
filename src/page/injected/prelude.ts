/**
 * Runs in Troupe's world of each document before the page's own scripts. The rest of the script is added by `build.rs`
 * as a getter, which runs at its first use. The browser caches the compiled script from one document to the next.
 */
import { pressListener, pressTypes } from './actions/pointer-listener'

for (const type of pressTypes)
  window.addEventListener(type, pressListener().listen, { capture: true })
