/** Fills form fields: text, options, checkboxes. */
import type {
  CheckedStateArgument,
  CheckedStateResult,
  DifferentFieldsArgument,
  DifferentFieldsResult,
  FileInputArgument,
  FileInputResult,
  FillArgument,
  FillResult,
  InsertIntoArgument,
  InsertIntoResult,
  SelectArgument,
  SelectResult
} from '../api'
import { CallError } from '../dom/call-error'
import {
  attr,
  elementClosest,
  isHtml,
  localName,
  normalize,
  textContent
} from '../dom/composed-tree'
import { nextTask } from '../dom/event-loop'
import { elementByRef, RefAllocator } from '../dom/refs'
import { checkedOf } from '../roles/aria-states'
import { roleOf } from '../roles/roles'
import { matchOf, requireRef } from '../targets/resolve'
import { editProblem } from './actionability'
import { guardClick } from './click-guard'
import { editorOf, paste, renderedText } from './code-editors'
import { placeCaret } from './focus'
import { isOptionDisabled, optionLabel } from './select-popup'

function controlOf(element: Element): Element {
  return localName(element) === 'label'
    ? ((element as HTMLLabelElement).control ?? element)
    : element
}

const describe = (element: Element, refs = new RefAllocator({ prefix: 'e', next: 1 })): string =>
  matchOf(element, refs).description

function refuse(
  element: Element,
  reason: string,
  why: string,
  details: object = {},
  suggestion?: string
): CallError {
  return new CallError(
    'ELEMENT_NOT_EDITABLE',
    `${describe(element)} ${why}`,
    { reason, ...details },
    suggestion
  )
}

/** Dispatches the events of a changed value. `withKey` adds the last key event of a paste. */
function dispatchInputEvents(element: Element, value: string | null, withKey = false): void {
  element.dispatchEvent(
    new InputEvent('input', {
      bubbles: true,
      composed: true,
      inputType: 'insertReplacementText',
      data: value
    })
  )
  if (withKey) {
    const key = { key: 'v', code: 'KeyV', ctrlKey: true, bubbles: true, composed: true }
    element.dispatchEvent(new KeyboardEvent('keyup', key))
  }
  element.dispatchEvent(new Event('change', { bubbles: true }))
}

/** Pastes a text into the code editor whose key events go to `ref`. */
export function insertInto({ ref, text }: InsertIntoArgument): InsertIntoResult {
  return { isHandled: paste(requireRef(ref), text) }
}

export async function fill(argument: FillArgument): Promise<FillResult> {
  const element = controlOf(requireRef(argument.ref))
  const problem = editProblem(element, 'fill')
  if (problem) throw refuse(element, problem.reason, problem.why, {}, problem.suggestion)
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement)
    return fillField(element, argument)
  const host = element as HTMLElement
  host.focus({ preventScroll: true })
  placeCaret(host, true)
  // Rich-text editors receive `selectionchange` in a later task.
  await nextTask()
  let entered =
    argument.value === ''
      ? document.execCommand('delete')
      : document.execCommand('insertText', false, argument.value)
  await nextTask()
  if (argument.value.includes('\n') && normalize(host.innerText) !== normalize(argument.value)) {
    placeCaret(host, true)
    await nextTask()
    entered = paste(host, argument.value) || entered
    await nextTask()
  }
  if (!entered) {
    host.textContent = argument.value
    dispatchInputEvents(host, argument.value)
  }
  return { password: false, value: normalize(host.innerText) }
}

function fillField(
  field: HTMLInputElement | HTMLTextAreaElement,
  { value: requested, withKey }: FillArgument
): FillResult {
  const type = field.type
  const old = field.value
  const value = strictTypes.test(type)
    ? requested.trim()
    : field.maxLength >= 0
      ? requested.slice(0, field.maxLength)
      : requested
  field.focus({ preventScroll: true })
  field.value = type === 'color' ? value.toLowerCase() : value
  if (strictTypes.test(type) && field.value !== value && !isSameValue(type, field.value, value)) {
    field.value = old
    throw refuse(
      field,
      'malformed',
      `does not accept \`${requested}\`: a value of type ${type} looks like ${examples[type]}`,
      { type, example: examples[type] }
    )
  }
  placeCaret(field, false)
  dispatchInputEvents(field, field.value, withKey && !strictTypes.test(type))
  return { password: type === 'password', value: type === 'password' ? '' : field.value }
}

/** Input types that accept only values of one format. */
const strictTypes = /^(color|date|datetime-local|month|number|range|time|week)$/
const examples: Record<string, string> = {
  color: '#ff8800',
  date: '2026-11-21',
  'datetime-local': '2026-11-21T09:30',
  month: '2026-11',
  number: '3.5',
  range: '50',
  time: '09:30',
  week: '2026-W47'
}

/** Returns whether a field of a strict type reads two texts as the same value: `1.0` and `1`. */
const isSameValue = (type: string, left: string, right: string): boolean =>
  type === 'color'
    ? left === right.toLowerCase()
    : type === 'datetime-local' || type === 'time'
      ? left.length > 0 && right.replace(' ', 'T').startsWith(left)
      : (type === 'number' || type === 'range') &&
        left !== '' &&
        right !== '' &&
        Number(left) === Number(right)

/** Returns whether a field contains the entered text. */
function hasText(field: HTMLElement, value: string, text: string, isTyped: boolean): boolean {
  const lines = text.replace(/\r\n?/g, '\n')
  if (isTyped)
    return (
      /[\t\n]/.test(lines) || value.includes(lines) || normalize(value).includes(normalize(lines))
    )
  const type = field instanceof HTMLInputElement ? field.type : ''
  if (strictTypes.test(type))
    return value === lines.trim() || isSameValue(type, value, lines.trim())
  return (
    value === lines ||
    (isHtml(field) && field.isContentEditable && normalize(value) === normalize(lines))
  )
}

/** Returns whether the rendered lines of an editor can belong to the entered text. */
function canContain(rendered: string, text: string, isTyped: boolean): boolean {
  const lines = text.replace(/\r\n?/g, '\n')
  return (
    rendered === lines ||
    (isTyped && rendered.includes(lines)) ||
    (lines.length > rendered.length ? lines.includes(rendered) : isTyped)
  )
}

/** Resolves after the next frame, or after 100 ms if the page is not painted. */
const nextFrame = (): Promise<void> =>
  new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve, 0))
    setTimeout(resolve, 100)
  })

/** Compares the value after the page's handlers have run, because they may have changed it. */
export async function differentFields({
  refs: counter,
  fields
}: DifferentFieldsArgument): Promise<DifferentFieldsResult> {
  const elements = fields.map(({ ref }) => elementByRef(ref))
  // Editors render in the next frame.
  if (elements.some((element) => element && editorOf(element))) await nextFrame()
  const refs = new RefAllocator(counter)
  const different: DifferentFieldsResult['different'] = []
  for (const { index, ref, text, typed: isTyped } of fields) {
    // A removed element has no value.
    const element = elementByRef(ref)
    const field = element && controlOf(element)
    if (!(field instanceof HTMLElement)) continue
    const editor = editorOf(field)
    const isInput = field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement
    if (!isInput && !editor && !field.isContentEditable) continue
    const value = editor ? renderedText(editor) : isInput ? field.value : field.innerText
    if (editor ? canContain(value, text, isTyped) : hasText(field, value, text, isTyped)) continue
    different.push({
      index,
      description: describe(field, refs),
      ...(field instanceof HTMLInputElement && field.type === 'password' ? {} : { value }),
      ...(isInput && field.maxLength >= 0 ? { maxLength: field.maxLength } : {})
    })
  }
  return { different, next: refs.next }
}

export function select(argument: SelectArgument): SelectResult {
  let element = controlOf(requireRef(argument.ref))
  if (localName(element) === 'option') element = elementClosest(element, 'select') ?? element
  if (!(element instanceof HTMLSelectElement)) {
    const role = roleOf(element)
    throw refuse(
      element,
      'not-a-select',
      `is not a select element but ${localName(element)} with role ${role}`,
      {},
      role === 'combobox' || role === 'listbox' || role === 'button'
        ? 'Click it, then click the option in the new snapshot.'
        : undefined
    )
  }
  if (argument.values.length > 1 && !element.multiple)
    throw new CallError(
      'INVALID_PARAMETERS',
      `${describe(element)} takes one value, but ${argument.values.length} were given`,
      { values: argument.values },
      'Pass one `value`.'
    )
  const options = Array.from(element.options)
  const list = element
  const chosen = argument.option
    ? [listedOption(list, argument.option)]
    : argument.values.map((value) => findOption(list, options, value))
  let changed = false
  for (const option of options) {
    const requested = chosen.includes(option)
    if (element.multiple ? option.selected !== requested : requested && !option.selected) {
      option.selected = requested
      changed = true
    }
  }
  if (!element.multiple && chosen.length === 0 && element.selectedIndex !== -1) {
    element.selectedIndex = -1
    changed = true
  }
  if (argument.focus) element.focus({ preventScroll: true })
  if (changed) {
    element.dispatchEvent(new Event('input', { bubbles: true, composed: true }))
    element.dispatchEvent(new Event('change', { bubbles: true }))
  }
  return {
    selected: Array.from(element.selectedOptions, (option) => ({
      value: option.value,
      label: option.label
    }))
  }
}

function findOption(
  element: HTMLSelectElement,
  options: HTMLOptionElement[],
  requested: string
): HTMLOptionElement {
  const text = normalize(requested)
  const lower = text.toLowerCase()
  const option =
    options.find((each) => each.value === requested) ??
    options.find(
      (each) => normalize(each.label) === text || normalize(textContent(each)) === text
    ) ??
    (/^#?\d+$/.test(text) ? options[Number(text.replace('#', ''))] : undefined) ??
    options.find((each) => normalize(each.label).toLowerCase() === lower)
  if (!option) {
    const some = options
      .slice(0, 20)
      .map((each) => ({ value: each.value, label: normalize(each.label) }))
    throw new CallError(
      'ELEMENT_NOT_FOUND',
      `${describe(element)} has no option \`${requested}\`: it has ${some.map((each) => each.label || each.value).join(', ')}${options.length > some.length ? ', …' : ''}`,
      { reason: 'option', options: some, count: options.length },
      'Pass one of its options as `value`.'
    )
  }
  requireEnabled(element, option, requested)
  return option
}

/** Returns the option that a person chose in a list. Fails if the list has changed since. */
function listedOption(
  element: HTMLSelectElement,
  { index, label }: { index: number; label: string }
): HTMLOptionElement {
  const option = element.options.item(index)
  if (!option || optionLabel(option) !== label)
    throw new CallError(
      'ELEMENT_NOT_FOUND',
      `the options of ${describe(element)} have changed`,
      { reason: 'option' },
      'Open the list again.'
    )
  requireEnabled(element, option, label)
  return option
}

function requireEnabled(
  element: HTMLSelectElement,
  option: HTMLOptionElement,
  requested: string
): void {
  if (isOptionDisabled(option))
    throw refuse(
      element,
      'disabled',
      `has the option \`${requested}\` disabled`,
      {},
      'Pass another option as `value`.'
    )
}

export function fileInput(argument: FileInputArgument): FileInputResult {
  const input = requireRef(argument.ref) as HTMLInputElement
  if (argument.empty) {
    input.value = ''
    for (const type of ['input', 'change'])
      input.dispatchEvent(new Event(type, { bubbles: true, composed: true }))
  }
  return { multiple: input.multiple }
}

export function checkedState(argument: CheckedStateArgument): CheckedStateResult {
  const pressable = requireRef(argument.ref)
  const element = controlOf(pressable)
  const role = roleOf(element)
  const pressed = role === 'button' ? attr(element, 'aria-pressed') : null
  const checked = pressed !== null ? pressed === 'true' : checkedOf(element, role)
  if (checked === null)
    throw new CallError(
      'ELEMENT_NOT_CLICKABLE',
      `${describe(element)} can be neither checked nor unchecked: its role is ${role}`,
      { reason: 'ELEMENT_NOT_INTERACTIVE' },
      'Use `click`.'
    )
  if (argument.wanted === !checked) guardClick(pressable)
  return {
    checked,
    radio: role === 'radio' || role === 'menuitemradio',
    native: isHtml(element) && localName(element) === 'input'
  }
}
