/** Sets `globalThis.__troupe` to the functions of `api.ts`, unless it is set already. */
import { frameAt, frameMatrix, hit, waitActionable } from './actionability'
import { annotations } from './annotations'
import type { Troupe } from './api'
import { arrival } from './arrival'
import { closedCandidates, known } from './closed'
import { adoptShadowRoot } from './dom'
import { links, metadata, table } from './extract'
import { answer, answerLater, answerRead } from './fail'
import { checkedState, entered, fileInput, fill, insertInto, select } from './fill'
import { find } from './find'
import { giveUpRelease } from './guard'
import { html } from './html'
import { bringBack, keep, watchScrolls, whereabouts } from './keep'
import { listenTo } from './listening'
import { countsByDocument, mutations, rootCame, startWatching } from './mutations'
import { pressListener, pressTypes } from './presses'
import { attribute, describe, list, state, text, value } from './reads'
import { elementByRef } from './refs'
import { resolve } from './resolve'
import { pointed, scroll, wheeled } from './scroll'
import { snapshotIfChanged } from './shown'
import { snapshot } from './snapshot'
import { writeStorage } from './storage'
import { turn, watchDownloads } from './turn'
import { waitFor } from './wait'

/** A call that looks through the page. */
const read = <Argument extends object, Result>(run: (argument: Argument) => Result): unknown =>
  answerRead(known(run))

/** Each call of the contract, as it is called from outside: a string comes back. */
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
