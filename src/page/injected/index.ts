/** Wires the contract of `api.ts` to `globalThis.__troupe`. Evaluated again, it leaves the one that is there. */
import { actionable, hit, waitActionable } from "./actionability";
import { annotations } from "./annotations";
import type { Troupe } from "./api";
import { closedCandidates } from "./closed";
import { adoptShadowRoot } from "./dom";
import { links, metadata, table } from "./extract";
import { answer, answerLater, answerRead } from "./fail";
import { checkedState, fill, prepareType, select } from "./fill";
import { find } from "./find";
import { html } from "./html";
import { formState, refsState, restoreForm, restoreRefs, restoreStorage, storage } from "./keep";
import { mutations, startWatching } from "./mutations";
import { attribute, describe, list, refOf, state, text, value } from "./reads";
import { elementByRef } from "./refs";
import { resolve } from "./resolve";
import { snapshot } from "./snapshot";
import { turn, watchDownloadLinks } from "./turn";
import { scroll, waitFor } from "./wait";

/** Each call of the contract, as it is called from outside: a string comes back. */
type Outside = { [Name in keyof Troupe]: unknown };

function wire(): Outside {
  return {
    version: 1,
    snapshot: answerRead(snapshot),
    resolve: answerRead(resolve),
    actionable: answer(actionable),
    waitActionable: answerLater(waitActionable),
    hit: answer(hit),
    prepareType: answer(prepareType),
    fill: answer(fill),
    select: answer(select),
    checkedState: answer(checkedState),
    text: answerRead(text),
    attribute: answerRead(attribute),
    value: answerRead(value),
    state: answerRead(state),
    find: answerRead(find),
    list: answerRead(list),
    links: answerRead(links),
    table: answerRead(table),
    metadata: answerRead(metadata),
    scroll: answer(scroll),
    html: answerRead(html),
    waitFor: answerLater(waitFor),
    describe: answerRead(describe),
    annotations: answerRead(annotations),
    formState: answerRead(formState),
    restoreForm: answer(restoreForm),
    storage: answer(storage),
    restoreStorage: answer(restoreStorage),
    refsState: answerRead(refsState),
    restoreRefs: answer(restoreRefs),
    mutations: answer(mutations),
    turn: answerLater(turn),
    adoptShadowRoot,
    closedCandidates,
    element: elementByRef,
    refOf,
  } as Outside;
}

const world = globalThis as { __troupe?: Outside };
if (!world.__troupe) {
  world.__troupe = wire();
  startWatching();
  watchDownloadLinks();
}
