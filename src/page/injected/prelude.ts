/**
 * Runs in our world of each document before the page's own scripts. The rest of our script comes with it (`build.rs`), as a
 * getter that nobody has asked yet: a browser keeps what it has compiled of it from one document to the next.
 */
import { pressListener, pressTypes } from "./presses";

for (const type of pressTypes) window.addEventListener(type, pressListener().listen, { capture: true });
