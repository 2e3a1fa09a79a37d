/** Runs in our world of each document before the page's own scripts. The rest of our script comes when it is needed. */
import { listenToPresses } from "./presses";

listenToPresses();
