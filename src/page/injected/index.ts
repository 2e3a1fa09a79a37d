/**
 * The entry point: sets `globalThis.__troupe` to the functions of `api.ts`, unless it is set
 * already.
 */
import type { Troupe } from './api'
import { frameAt, frameMatrix, hit, waitActionable } from './actions/actionability'
import { cancelReleaseWait } from './actions/click-guard'
import { awaitTick, watchDownloads } from './actions/event-loop-tick'
import { checkedState, differentFields, fileInput, fill, insertInto, select } from './actions/fill'
import { pointerEventTypes, pointerListener } from './actions/pointer-listener'
import { elementAtPoint, scroll, wheelEffect } from './actions/scroll'
import { focusedSelect, selectAt } from './actions/select-popup'
import { awaitContent } from './actions/content'
import { waitFor } from './actions/wait'
import { asyncCall, readCall, syncCall } from './dom/call-error'
import { countsByDocument, mutations } from './dom/change-counts'
import { adoptShadowRoots, afterHostCheck, takeUncheckedHosts } from './dom/closed-shadow-roots'
import { startObserving } from './dom/mutation-observer'
import { elementByRef } from './dom/refs'
import { observeResources } from './dom/resource-observer'
import { addWindowListener } from './dom/window-listeners'
import { links, metadata, table } from './reads/extract'
import { html } from './reads/html'
import { attribute, describe, list, state, text, value } from './reads/reads'
import { annotations } from './snapshot/annotations'
import { find } from './snapshot/find'
import { readNavigation } from './snapshot/navigation'
import { snapshot, snapshotIfChanged } from './snapshot/snapshot'
import { restoreState, saveState, recordScrolls, framePosition } from './storage/restart-state'
import { writeStorage } from './storage/web-storage'
import { resolve } from './targets/resolve'

/**
 * Wraps a call that reads the page: it runs with a cache, and after possible shadow hosts have been
 * checked.
 */
const readPage = <Argument extends object, Result>(run: (argument: Argument) => Result): unknown =>
  readCall(afterHostCheck(run))

/** The functions of the interface, which return JSON strings to Rust. */
type ExposedCalls = { [Name in keyof Troupe]: unknown }

function exposeCalls(): ExposedCalls {
  return {
    version: 1,
    snapshot: readPage(snapshot),
    resolve: readPage(resolve),
    waitActionable: asyncCall(waitActionable),
    hit: syncCall(hit),
    frameMatrix: syncCall(frameMatrix),
    fill: asyncCall(fill),
    insertInto: syncCall(insertInto),
    fileInput: syncCall(fileInput),
    differentFields: asyncCall(differentFields),
    select: syncCall(select),
    checkedState: syncCall(checkedState),
    text: readPage(text),
    attribute: readPage(attribute),
    value: readPage(value),
    state: readPage(state),
    find: readPage(find),
    list: readPage(list),
    links: readPage(links),
    table: readPage(table),
    metadata: readPage(metadata),
    scroll: syncCall(afterHostCheck(scroll)),
    wheelEffect: asyncCall(wheelEffect),
    elementAtPoint: syncCall(elementAtPoint),
    selectAt: syncCall(afterHostCheck(selectAt)),
    focusedSelect: syncCall(afterHostCheck(focusedSelect)),
    html: readPage(html),
    waitFor: asyncCall(waitFor),
    describe: readPage(describe),
    annotations: readPage(annotations),
    saveState: asyncCall(saveState),
    restoreState: asyncCall(restoreState),
    writeStorage: asyncCall(writeStorage),
    framePosition: syncCall(framePosition),
    mutations: syncCall(mutations),
    snapshotIfChanged: readPage(snapshotIfChanged),
    readNavigation: asyncCall(readNavigation),
    awaitContent: asyncCall(awaitContent),
    awaitTick: asyncCall(awaitTick),
    cancelReleaseWait: syncCall(cancelReleaseWait),
    adoptShadowRoots,
    takeUncheckedHosts,
    countsByDocument,
    frameAt,
    element: elementByRef
  } as ExposedCalls
}

const world = globalThis as { __troupe?: ExposedCalls }
if (!world.__troupe) {
  world.__troupe = exposeCalls()
  startObserving()
  observeResources()
  recordScrolls()
  addWindowListener(pointerEventTypes, pointerListener().listen, false)
  watchDownloads()
}
