/**
 * The options of a dropdown list. Its native popup is not part of the page's images, so a person
 * who controls the page sees them in the dashboard.
 */
import type { ListedOption, RefContext, SelectAtArgument, SelectAtResult } from '../api'
import { activeElement, elementClosest, elementMatches, normalize } from '../dom/composed-tree'
import { boxOf, coefficients, contentMatrix } from '../dom/geometry'
import { RefAllocator } from '../dom/refs'
import { nameOf } from '../roles/accessible-name'
import { elementAt } from './hit-target'

const maxOptions = 5000
const maxLabel = 200

export function selectAt(argument: SelectAtArgument): SelectAtResult {
  return selectOf(elementAt(argument), argument)
}

export function focusedSelect(argument: RefContext): SelectAtResult {
  return selectOf(activeElement(), argument)
}

function selectOf(element: Element | null, argument: RefContext): SelectAtResult {
  const refs = new RefAllocator(argument.refs)
  const result: SelectAtResult = { next: 0 }
  const select = element && elementClosest(element, 'select')
  if (select instanceof HTMLSelectElement && opensPopup(select)) {
    const options = Array.from(select.options, listed).filter((option) => option !== null)
    result.select = {
      ref: refs.of(select),
      name: shortened(nameOf(select)),
      box: boxOf(select),
      options: options.slice(0, maxOptions),
      omitted: Math.max(options.length - maxOptions, 0)
    }
  } else if (element && (element as Partial<HTMLIFrameElement>).contentWindow) {
    result.frame = { ref: refs.of(element), matrix: coefficients(contentMatrix(element)) }
  }
  return { ...result, next: refs.next }
}

function opensPopup(select: HTMLSelectElement): boolean {
  if (select.multiple || select.size > 1 || elementMatches(select, ':disabled')) return false
  // The page itself draws the options of such a list.
  const isDrawn = ['', '::picker(select)'].every(
    (part) => getComputedStyle(select, part).appearance === 'base-select'
  )
  return !isDrawn
}

function listed(option: HTMLOptionElement, index: number): ListedOption | null {
  const around = option.parentElement
  const group = around instanceof HTMLOptGroupElement ? around : null
  const isHidden = [option, group].some(
    (element) => element && getComputedStyle(element).display === 'none'
  )
  if (isHidden) return null
  return {
    index,
    label: optionLabel(option),
    group: group && shortened(group.label),
    disabled: isOptionDisabled(option),
    selected: option.selected
  }
}

const shortened = (text: string): string => {
  const whole = normalize(text)
  return whole.length > maxLabel ? `${whole.slice(0, maxLabel - 1)}…` : whole
}

export const optionLabel = (option: HTMLOptionElement): string => shortened(option.label)

export function isOptionDisabled(option: HTMLOptionElement): boolean {
  const group = option.parentElement
  return option.disabled || (group instanceof HTMLOptGroupElement && group.disabled)
}
