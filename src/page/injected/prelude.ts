/**
 * Runs in Troupe's isolated world of each document before the page's own scripts. `build.rs` adds
 * the rest of the script as a getter, which runs at its first use. The browser caches the compiled
 * script between documents.
 */
import { pointerEventTypes, pointerListener } from './actions/pointer-listener'

for (const type of pointerEventTypes)
  window.addEventListener(type, pointerListener().listen, { capture: true })
