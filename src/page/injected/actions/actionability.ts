/** The actionability checks, and the wait until they succeed. */
import type {
  Action,
  ActionableArgument,
  ActionableResult,
  Box,
  ErrorCode,
  FrameMatrixResult,
  HitArgument,
  HitResult,
  Point,
  RefArgument,
  UncheckedHosts,
  WaitActionableArgument
} from '../api'
import { withCallCache } from '../dom/call-cache'
import { CallError } from '../dom/call-error'
import { changeCounts } from '../dom/change-counts'
import { uncheckedHosts } from '../dom/closed-shadow-roots'
import {
  attr,
  composedParent,
  elementClosest,
  hasAttr,
  isHtml,
  localName
} from '../dom/composed-tree'
import { boxOf, bringPointIntoView, coefficients, contentMatrix, isSameBox } from '../dom/geometry'
import { onChange } from '../dom/mutation-observer'
import { RefAllocator } from '../dom/refs'
import { testIdOf } from '../dom/test-ids'
import { hiddenReason, isVisible, notRendered } from '../dom/visibility'
import { labelsOf } from '../roles/accessible-name'
import { isDisabled } from '../roles/aria-states'
import { tagOf } from '../roles/describe'
import { roleOf } from '../roles/roles'
import { matchOf, notFound, requireRef, resolveMany } from '../targets/resolve'
import { guardClick } from './click-guard'
import { editorOf } from './code-editors'
import { takeFocus } from './focus'
import {
  actsOn,
  bringIntoView,
  bringPositionIntoView,
  describeCover,
  elementAt,
  isAnimated,
  isInViewport,
  pointsOf
} from './hit-target'

const inputActions = new Set<Action>(['type', 'fill', 'select', 'upload'])
const pointerActions = new Set<Action>(['click', 'hover', 'check', 'drag', 'drop'])

/** The suggestion for each reason. */
const advice: Record<string, string> = {
  hidden: 'Make the element visible first, or target a visible one: `snapshot` lists them.',
  disabled:
    'Wait until it is enabled, or first do what enables it. If its form reacts only to keys, enter text with `type`.',
  moving: 'Wait until the animation has ended, or pass `force`.',
  position:
    'Positions are CSS px from the top left corner of the element. Without `selector`, they are those of the viewport.',
  covered: 'Close what covers it, or pass `force`.',
  'read-only': 'Target a field that can be edited: `snapshot` lists them.',
  ELEMENT_NOT_INTERACTIVE:
    'Target another element: `snapshot` with `interactive` lists those that can be used.'
}

type Attempt =
  | { ok: true; element: Element; x: number; y: number; box: Box }
  | {
      ok: false
      retry: boolean
      failure: CallError
      missing?: boolean
      moving?: boolean
      box?: Box
    }

/** Checks the actionability of a target, repeatedly during a wait. */
class ActionabilityChecks {
  private readonly argument: ActionableArgument
  private readonly code: ErrorCode
  /** The number of attempts that had to scroll. */
  private scrolls = 0

  constructor(argument: ActionableArgument) {
    this.argument = argument
    this.code = inputActions.has(argument.action) ? 'ELEMENT_NOT_EDITABLE' : 'ELEMENT_NOT_CLICKABLE'
  }

  try(refs: RefAllocator, lastBox: Box | undefined): Attempt {
    return withCallCache(() => this.attempt(refs, lastBox))
  }

  private attempt(refs: RefAllocator, lastBox: Box | undefined): Attempt {
    const { target, action, force } = this.argument
    let element: Element
    try {
      element = this.elementToUse(
        resolveMany(target, refs, this.argument.strict ?? true, true).element,
        action
      )
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      return {
        ok: false,
        retry:
          error.code === 'ELEMENT_NOT_FOUND' &&
          !['stale', 'unknown'].includes(String(error.details.reason)),
        failure: error,
        missing: error.code === 'ELEMENT_NOT_FOUND'
      }
    }
    const refuse = (
      reason: string,
      why: string,
      retry = true,
      more: { details?: object; suggestion?: string; box?: Box } = {}
    ): Attempt => {
      const { description, ref } = matchOf(element, refs)
      return {
        ok: false,
        retry,
        box: more.box,
        moving: reason === 'moving',
        failure: new CallError(
          this.code,
          `${description} ${why}`,
          { reason, ref, ...more.details },
          more.suggestion ?? advice[reason]
        )
      }
    }
    if (force) {
      this.bringIntoViewIfOut(element)
      const point = this.points(element)[0]
      return point
        ? { ok: true, element, ...point, box: boxOf(element) }
        : refuse('hidden', 'has no box in the viewport', false)
    }
    const invisible = action === 'upload' ? null : hiddenReason(element)
    if (invisible !== null) {
      const by = hiddenBy(element, invisible)
      return refuse(
        'hidden',
        `is hidden: ${by && invisible === notRendered ? 'display: none' : invisible}${by}`
      )
    }
    if (action !== 'hover' && action !== 'scroll' && action !== 'screenshot' && action !== 'drop') {
      const disabled = disabledBy(element)
      if (disabled)
        return refuse(
          'disabled',
          disabled === element ? 'is disabled' : `is disabled by ${tagOf(disabled)}`
        )
    }
    if (action === 'type' || action === 'fill') {
      const problem = editProblem(element, action)
      if (problem)
        return refuse(problem.reason, problem.why, problem.reason === 'read-only', {
          suggestion: problem.suggestion
        })
    }
    const box = boxOf(element)
    const { position } = this.argument
    if (
      position &&
      (position.x < 0 || position.y < 0 || position.x > box.width || position.y > box.height)
    ) {
      return refuse(
        'position',
        `is ${Math.round(box.width)}×${Math.round(box.height)} px: the position ${position.x}, ${position.y} is outside of it`
      )
    }
    if (lastBox ? !isSameBox(lastBox, box) || isAnimated(element, true) : isAnimated(element))
      return refuse('moving', 'is moving', true, { box })
    if (!pointerActions.has(action)) {
      this.bringIntoViewIfOut(element)
      const point = this.points(element)[0] ?? {
        x: box.x + box.width / 2,
        y: box.y + box.height / 2
      }
      return { ok: true, element, ...point, box: boxOf(element) }
    }
    let hit = this.hitPoint(element)
    if ('x' in hit) return { ok: true, element, x: hit.x, y: hit.y, box }
    this.bringIntoView(element, this.scrolls++)
    hit = this.hitPoint(element)
    if ('x' in hit) return { ok: true, element, x: hit.x, y: hit.y, box: boxOf(element) }
    if (hit.coveredBy === null)
      return refuse(
        'ELEMENT_NOT_INTERACTIVE',
        'is outside of the viewport and cannot be scrolled into it'
      )
    const ignored = ignoresPointer(element)
    if (ignored !== null)
      return refuse('ELEMENT_NOT_INTERACTIVE', `takes no pointer events: ${ignored}`)
    const suggestion =
      action === 'click' || action === 'check'
        ? `${advice.covered} ${withoutPointer(element)}`.trimEnd()
        : undefined
    return refuse('covered', `is covered by ${hit.coveredBy}`, true, {
      details: { covering: hit.coveredBy },
      suggestion
    })
  }

  /** Returns the action points of the element in the viewport. */
  private points(element: Element): Point[] {
    const { inside, position } = this.argument
    if (!inside) return pointsOf(element, position)
    const { x, y } = contentMatrix(element).transformPoint(inside)
    return [{ x, y }].filter(isInViewport)
  }

  private bringIntoView(element: Element, attempt: number): void {
    const { inside, position } = this.argument
    if (inside)
      bringPointIntoView(element, () => contentMatrix(element).transformPoint(inside), attempt)
    else if (position) bringPositionIntoView(element, position, attempt)
    else bringIntoView(element, attempt)
  }

  private bringIntoViewIfOut(element: Element): void {
    if (this.points(element).length === 0) this.bringIntoView(element, 0)
  }

  /**
   * Returns the first action point at which a click acts on the element. Without one, returns a
   * description of the covering element, which is null if all points are outside of the viewport.
   */
  private hitPoint(element: Element): Point | { coveredBy: string | null } {
    let coveredBy: string | null = null
    for (const point of this.points(element)) {
      const hit = elementAt(point)
      if (hit && actsOn(hit, element)) return point
      if (hit) coveredBy ??= describeCover(hit, element)
    }
    return { coveredBy }
  }

  /** Returns the element to act on: the label of a hidden checkbox, the control of a label. */
  private elementToUse(element: Element, action: Action): Element {
    const tag = localName(element)
    // The pointer acts on a code editor, not on its invisible field.
    if (pointerActions.has(action)) return editorOf(element) ?? this.control(element, action, tag)
    return this.control(element, action, tag)
  }

  private control(element: Element, action: Action, tag: string): Element {
    if (tag === 'label' && (inputActions.has(action) || action === 'check' || action === 'focus')) {
      const { control } = element as HTMLLabelElement
      if (control && (action !== 'check' || isVisible(control))) return control
    }
    if (
      tag === 'input' &&
      (action === 'check' || action === 'click') &&
      /^(checkbox|radio)$/.test((element as HTMLInputElement).type) &&
      !isVisible(element)
    ) {
      return labelsOf(element).find(isVisible) ?? element
    }
    if (tag === 'option' && (action === 'click' || action === 'select'))
      return elementClosest(element, 'select') ?? element
    return element
  }
}

/** Suggests a way to use a covered element. */
function withoutPointer(element: Element): string {
  const role = roleOf(element)
  if (role === 'textbox' || role === 'searchbox') return '`fill` needs no pointer.'
  if (role === 'slider' || role === 'spinbutton')
    return '`press` with its `selector` and an arrow key changes it.'
  const key =
    role === 'checkbox' || role === 'radio' || role === 'switch'
      ? 'Space'
      : role === 'button' || role === 'link'
        ? 'Enter'
        : null
  return key ? `\`press\` with its \`selector\` and the key ${key} needs no pointer.` : ''
}

/** Returns why an element receives no pointer events, null if it receives them. */
function ignoresPointer(element: Element): string | null {
  for (let node: Element | null = element; node; node = composedParent(node))
    if (hasAttr(node, 'inert'))
      return node === element ? 'it is inert' : `it is inert (by ${tagOf(node)})`
  return getComputedStyle(element).pointerEvents === 'none' ? 'it has pointer-events: none' : null
}

/** Describes the ancestor that hides an element, empty if the element hides itself. */
function hiddenBy(element: Element, why: string): string {
  const none = why === 'display: none' || why === notRendered
  if (!none && why !== 'visibility: hidden') return ''
  let outermost: Element | null = null
  for (let node = composedParent(element); node; node = composedParent(node)) {
    const style = getComputedStyle(node)
    if (none ? style.display === 'none' : style.visibility === 'hidden') outermost = node
  }
  return outermost ? ` (by ${tagOf(outermost)})` : ''
}

/** Returns the element that disables an element: itself, or an ancestor. */
export function disabledBy(element: Element): Element | null {
  if (isDisabled(element)) return element
  const native = elementClosest(element, 'button, select, option, optgroup, fieldset:disabled')
  if (native && isDisabled(native) && localName(native) !== 'fieldset') return native
  for (let node = composedParent(element); node; node = composedParent(node))
    if (attr(node, 'aria-disabled') === 'true') return node
  return null
}

interface EditProblem {
  reason: string
  why: string
  suggestion?: string
}

const nonTextTypes = /^(button|checkbox|color|file|hidden|image|radio|range|reset|submit)$/

/** Returns why an element accepts no text, null if it accepts text. */
export function editProblem(element: Element, action: Action): EditProblem | null {
  const tag = localName(element)
  if (tag === 'input' || tag === 'textarea') {
    const field = element as HTMLInputElement
    if (
      tag === 'input' &&
      nonTextTypes.test(field.type) &&
      !(action === 'fill' && /^(color|range)$/.test(field.type))
    ) {
      const use =
        field.type === 'checkbox' || field.type === 'radio'
          ? 'check'
          : field.type === 'file'
            ? 'upload_file'
            : field.type === 'color' || field.type === 'range'
              ? 'fill'
              : 'click'
      return {
        reason: 'not-a-text-field',
        why: `is an input of type ${field.type}, which accepts no text`,
        suggestion: `Use \`${use}\` for it.`
      }
    }
    if (field.readOnly) return { reason: 'read-only', why: 'is read-only' }
    return attr(element, 'aria-readonly') === 'true'
      ? { reason: 'read-only', why: 'is read-only (aria-readonly)' }
      : null
  }
  if (tag === 'select')
    return {
      reason: 'not-a-text-field',
      why: 'is a select element, which accepts no text',
      suggestion: 'Use `select` for it.'
    }
  if (isHtml(element) && element.isContentEditable)
    return attr(element, 'aria-readonly') === 'true'
      ? { reason: 'read-only', why: 'is read-only (aria-readonly)' }
      : null
  // Any focusable element can handle keys: a canvas, a grid, a custom element.
  if (
    action === 'type' &&
    (hasAttr(element, 'tabindex') ||
      tag.includes('-') ||
      tag === 'canvas' ||
      tag === 'body' ||
      tag === 'iframe')
  )
    return null
  return {
    reason: 'not-a-text-field',
    why: `accepts no text: ${tagOf(element)} is not an input, textarea or contenteditable element`,
    suggestion: 'Pass the `selector` of the text field, such as role=textbox or label=…'
  }
}

function success(attempt: Attempt & { ok: true }, refs: RefAllocator): ActionableResult {
  const { element, x, y, box } = attempt
  const type = element instanceof HTMLInputElement ? element.type : ''
  const match = matchOf(element, refs)
  return {
    ok: true,
    ...match,
    x,
    y,
    box,
    tag: localName(element),
    type,
    password: type === 'password',
    testId: testIdOf(element),
    ...changeCounts(),
    next: refs.next
  }
}

/** Minimum ms between two checks of a moving element. */
const minCheckInterval = 8

/**
 * Maximum ms between two checks. Some changes create no event: a rule set through CSSOM, a media
 * query.
 */
const maxCheckInterval = 100

/**
 * Resolves at the next change, frame (for moving elements) or check interval, or at the time
 * `until`.
 */
export function nextChange(moving: boolean, until: number): Promise<void> {
  return new Promise((resolve) => {
    let stop = (): void => {}
    let frame = 0
    const wake = (): void => {
      stop()
      clearTimeout(timer)
      cancelAnimationFrame(frame)
      resolve()
    }
    const timer = setTimeout(
      wake,
      Math.max(0, Math.min(moving ? 50 : maxCheckInterval, until - performance.now()))
    )
    if (moving) frame = requestAnimationFrame(wake)
    else stop = onChange(wake)
  })
}

export async function waitActionable(
  argument: WaitActionableArgument
): Promise<ActionableResult | UncheckedHosts> {
  const refs = new RefAllocator(argument.refs)
  const until = performance.now() + argument.timeout - (argument.waited ?? 0)
  let retried = false
  const attempts = new ActionabilityChecks(argument)
  let lastBox: Box | undefined
  let boxTime = 0
  for (;;) {
    const hosts = uncheckedHosts(argument)
    if (hosts) return hosts
    // Two checks at the same time on the animation timeline cannot detect movement.
    const isTooEarly =
      lastBox !== undefined &&
      Number(document.timeline?.currentTime ?? 0) - boxTime < minCheckInterval
    const attempt = attempts.try(refs, isTooEarly ? undefined : lastBox)
    if (attempt.ok) {
      const found = success(attempt, refs)
      if (argument.guard) guardClick(attempt.element)
      if (found.mutations === argument.known) found.press = { x: found.x, y: found.y }
      if (argument.inside) found.matrix = coefficients(contentMatrix(attempt.element))
      if (retried) found.retried = true
      if (editorOf(attempt.element)) found.editor = true
      return argument.focus
        ? { ...found, focused: takeFocus(attempt.element as HTMLElement, argument.focus.replace) }
        : found
    }
    if (!attempt.retry) throw attempt.failure
    const time = Number(document.timeline?.currentTime ?? 0)
    if (!attempt.moving) lastBox = undefined
    else if (!lastBox || time - boxTime >= minCheckInterval) {
      lastBox = attempt.box
      boxTime = time
    }
    if (performance.now() >= until) {
      const failure = attempt.missing ? notFound(argument.target, refs) : attempt.failure
      throw new CallError(
        failure.code,
        `${failure.message} (waited ${argument.timeout} ms)`,
        { ...failure.details, timeout: argument.timeout },
        failure.suggestion
      )
    }
    retried = true
    await nextChange(attempt.moving ?? false, until)
  }
}

export function hit(argument: HitArgument): HitResult {
  const element = requireRef(argument.ref)
  const found = elementAt(argument)
  if (found && actsOn(found, element)) return { ok: true }
  return found ? { ok: false, covered: describeCover(found, element) } : { ok: false }
}

export function frameMatrix(argument: RefArgument): FrameMatrixResult {
  return { matrix: coefficients(contentMatrix(requireRef(argument.ref))) }
}

export function frameAt(x: number, y: number): [] | [Window, number, number] {
  const frame = elementAt({ x, y })
  const { contentWindow = null } = (frame ?? {}) as Partial<HTMLIFrameElement>
  if (!frame || !contentWindow) return []
  const inside = contentMatrix(frame).inverse().transformPoint({ x, y })
  return [contentWindow, inside.x, inside.y]
}
