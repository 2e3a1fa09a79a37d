/**
 * A look at what is to be pressed, and the turn after the press, asked for together: the turn begins in the page as soon as
 * the press is over, while the word of that is still on its way out.
 */
import { waitActionable } from "./actionability";
import type { ActionableResult, AimArgument, Hosts, Turned } from "./api";
import { overAfter } from "./guard";
import { nextTask } from "./task";
import { turn } from "./turn";

let turning: Promise<Turned | null> | null = null;
let begin: (() => void) | null = null;

export async function aim({ look, clicks, then }: AimArgument): Promise<ActionableResult | Hosts> {
  turning = null;
  const found = await waitActionable(look);
  if ("press" in found) {
    let isMine = (): boolean => false;
    const over = new Promise<void>((resolve) => {
      begin = resolve;
      isMine = overAfter(clicks, resolve);
    });
    // What the last event of the press leads to comes in the same task. A dialog may hold it up until the next press.
    turning = over.then(nextTask).then(() => (isMine() ? turn(then) : null));
  }
  return found;
}

export const afterPress = async (): Promise<Turned | null> => turning;

/** The press is over, and this document has not heard of it: another frame has. */
export function unheard(): { done: true } {
  begin?.();
  return { done: true };
}
