/** One turn of the page's event loop. */
import type { TurnArgument, Turned } from "./api";
import { focusedPassword } from "./dom";
import { guardedFrom } from "./guard";
import { listenTo } from "./listening";
import { withMemo } from "./memo";
import { mutations } from "./mutations";
import { shown } from "./shown";
import { nextTask } from "./task";

/** The last click on a link that downloads. */
let click: Event | null = null;

/** Such a click starts no request that is told of: the download comes out of the blue, when its server has answered. */
export function watchDownloadLinks(): void {
  const noted = (event: Event): void => {
    const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement && node.hasAttribute("download"));
    // Of another origin it is a link like others.
    if (!(link instanceof HTMLAnchorElement)) return;
    if (link.origin === location.origin || link.protocol === "data:") click = event;
  };
  listenTo(["click"], noted, true);
}

/** Timers of 0 ms that the action set have run by then. */
export async function turn(argument: TurnArgument): Promise<Turned> {
  for (let left = argument.tasks ?? 1; left > 0; left--) await nextTask();
  await new Promise((resolve) => setTimeout(resolve, 0));
  return withMemo(() => turned(argument));
}

function turned({ look, refs, hosts }: TurnArgument): Turned {
  const told: Turned = { done: true, mutations: mutations().count };
  const covered = guardedFrom();
  if (covered !== undefined) told.covered = covered;
  const password = focusedPassword();
  if (password !== null) told.password = password;
  if (click !== null && !click.defaultPrevented) told.download = true;
  click = null;
  return look && look.known !== told.mutations ? { ...told, ...shown(look, { refs, hosts }) } : told;
}
