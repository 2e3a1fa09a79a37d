/**
 * The entry point: sets `globalThis.__troupe` to the functions of `api.ts`, unless it is set
 * already.
 */
import type { Troupe } from './api'
import { frameAt, frameMatrix, hit, waitActionable } from './actions/actionability'
import { giveUpRelease } from './actions/click-guard'
import { turn, watchDownloads } from './actions/event-loop-tick'
import { checkedState, entered, fileInput, fill, insertInto, select } from './actions/fill'
import { pressListener, pressTypes } from './actions/pointer-listener'
import { pointed, scroll, wheeled } from './actions/scroll'
import { waitFor } from './actions/wait'
import { countsByDocument, mutations } from './dom/change-counts'
import { closedCandidates, known } from './dom/closed-shadow-roots'
import { adoptShadowRoot } from './dom/composed-tree'
import { answer, answerLater, answerRead } from './dom/failure'
import { rootCame, startWatching } from './dom/mutation-observer'
import { elementByRef } from './dom/refs'
import { listenTo } from './dom/window-listeners'
import { links, metadata, table } from './reads/extract'
import { html } from './reads/html'
import { attribute, describe, list, state, text, value } from './reads/reads'
import { annotations } from './snapshot/annotations'
import { find } from './snapshot/find'
import { arrival } from './snapshot/navigation'
import { snapshot } from './snapshot/snapshot'
import { snapshotIfChanged } from './snapshot/snapshot-if-changed'
import { bringBack, keep, watchScrolls, whereabouts } from './storage/restart-state'
import { writeStorage } from './storage/web-storage'
import { resolve } from './targets/resolve'

/**
 * Wraps a call that reads the page: it runs with a cache, and after possible shadow hosts have been
 * checked.
 */
const read = <Argument extends object, Result>(run: (argument: Argument) => Result): unknown =>
  answerRead(known(run))

/** The functions of the interface, which return JSON strings to Rust. */
type Outside = { [Name in keyof Troupe]: unknown }

function wire(): Outside {
  return {
    version: 1,
    snapshot: read(snapshot),
    resolve: read(resolve),
    waitActionable: answerLater(waitActionable),
    hit: answer(hit),
    frameMatrix: answer(frameMatrix),
    fill: answerLater(fill),
    insertInto: answer(insertInto),
    fileInput: answer(fileInput),
    entered: answerLater(entered),
    select: answer(select),
    checkedState: answer(checkedState),
    text: read(text),
    attribute: read(attribute),
    value: read(value),
    state: read(state),
    find: read(find),
    list: read(list),
    links: read(links),
    table: read(table),
    metadata: read(metadata),
    scroll: answer(known(scroll)),
    wheeled: answerLater(wheeled),
    pointed: answer(pointed),
    html: read(html),
    waitFor: answerLater(waitFor),
    describe: read(describe),
    annotations: read(annotations),
    keep: answerLater(keep),
    bringBack: answerLater(bringBack),
    writeStorage: answerLater(writeStorage),
    whereabouts: answer(whereabouts),
    mutations: answer(mutations),
    snapshotIfChanged: read(snapshotIfChanged),
    arrival: answerLater(arrival),
    turn: answerLater(turn),
    giveUpRelease: answer(giveUpRelease),
    adoptShadowRoot: (host: Element, root: ShadowRoot): void => {
      adoptShadowRoot(host, root)
      rootCame(root)
    },
    closedCandidates,
    countsByDocument,
    frameAt,
    element: elementByRef
  } as Outside
}

const world = globalThis as { __troupe?: Outside }
if (!world.__troupe) {
  world.__troupe = wire()
  startWatching()
  watchScrolls()
  listenTo(pressTypes, pressListener().listen, false)
  watchDownloads()
}
