// The options of a dropdown list of the page. Its native popup is not in the images.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { FrameHeader, PageSelect, SelectOption, Session } from '../contract'
import { closeSelect } from '../live'

/** How long typed characters belong to the same search, in ms. */
const SEARCH_TIME = 1000
/** The smallest height of the list, in CSS pixels of the dashboard. */
const SMALLEST = 96

interface Props {
  session: Session
  select: PageSelect
  /** The element around the image. */
  surface: HTMLElement
  viewport: FrameHeader
  /** Returns the focus to the page. */
  onClose: () => void
}

/** A list box over the image, at the place of the list. Escape and Tab close it. */
export function SelectOfPage({ session, select, surface, viewport, onClose }: Props) {
  const { options, name, omitted } = select
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState(() => options.findIndex(({ selected }) => selected))
  const typed = useRef({ text: '', time: 0 })
  const url = useRef(session.url)

  useEffect(() => list.current?.focus({ preventScroll: true }), [])
  useEffect(() => {
    list.current?.querySelector('.active')?.scrollIntoView({ block: 'nearest' })
  }, [active])
  // The list is gone with its document.
  useEffect(() => {
    if (session.url !== url.current) close(null)
  }, [session.url])

  function close(choice: SelectOption | null): void {
    if (choice?.disabled) return
    closeSelect(session.id, choice?.index ?? null)
    onClose()
  }

  /** Makes the next enabled option from `from` on in direction `step` the active one. */
  function move(from: number, step: 1 | -1): void {
    for (let at = from; at >= 0 && at < options.length; at += step)
      if (!options[at]?.disabled) return setActive(at)
  }

  function find(key: string, time: number): void {
    const isNew = time - typed.current.time > SEARCH_TIME
    const text = (isNew ? '' : typed.current.text) + key.toLowerCase()
    typed.current = { text, time }
    // The same key again selects the next option that begins with it.
    const begin = text.length === 1 ? active + 1 : Math.max(active, 0)
    const isFound = (at: number) =>
      !options[at]?.disabled && options[at]?.label.toLowerCase().startsWith(text)
    const found = options.map((_, at) => (begin + at) % options.length).find(isFound)
    if (found !== undefined) setActive(found)
  }

  function onKeyDown(event: KeyboardEvent): void {
    const { key, timeStamp, ctrlKey, altKey, metaKey } = event
    // The key that has opened the list may still be down.
    if (event.repeat && (key === ' ' || key === 'Enter')) return event.preventDefault()
    const keys: Record<string, () => void> = {
      ArrowDown: () => move(active + 1, 1),
      ArrowUp: () => move(active < 0 ? options.length - 1 : active - 1, -1),
      Home: () => move(0, 1),
      End: () => move(options.length - 1, -1),
      Enter: () => close(options[active] ?? null),
      Escape: () => close(null),
      Tab: () => close(null)
    }
    const isSearch = typed.current.text !== '' && timeStamp - typed.current.time <= SEARCH_TIME
    if (key === ' ' && !isSearch) keys[key] = keys.Enter!
    const isText = [...key].length === 1 && !ctrlKey && !altKey && !metaKey
    const act = keys[key] ?? (isText ? () => find(key, timeStamp) : null)
    if (!act) return
    event.preventDefault()
    if (!isText) typed.current.text = ''
    act()
  }

  const groups: { label: string | null; members: [SelectOption, number][] }[] = []
  options.forEach((option, at) => {
    const last = groups.at(-1)
    if (last?.label === option.group) last.members.push([option, at])
    else groups.push({ label: option.group, members: [[option, at]] })
  })
  return (
    <div
      ref={list}
      class="page-select"
      style={placeOf(select, surface, viewport)}
      role="listbox"
      tabIndex={0}
      aria-label={name || 'Options of the page'}
      aria-activedescendant={active < 0 ? undefined : `${id}-${active}`}
      onKeyDown={onKeyDown}
      onBlur={() => closeSelect(session.id, null)}
    >
      {groups.map(({ label, members }, number) => {
        const items = members.map(([option, at]) => (
          <div
            key={option.index}
            id={`${id}-${at}`}
            class={at === active ? 'option active' : 'option'}
            role="option"
            aria-selected={option.selected}
            aria-disabled={option.disabled || undefined}
            dir="auto"
            onClick={() => close(option)}
          >
            {option.label || '\u00a0'}
          </div>
        ))
        return label === null ? (
          items
        ) : (
          <div key={number} role="group" aria-label={label || 'Group'}>
            <div class="group muted small" aria-hidden="true" dir="auto">
              {label}
            </div>
            {items}
          </div>
        )
      })}
      {omitted > 0 && (
        <div class="option" role="option" aria-selected={false} aria-disabled>
          {omitted} more options are not shown.
        </div>
      )}
    </div>
  )
}

/** Returns the place below the list, or above it if there is more room. */
function placeOf(select: PageSelect, surface: HTMLElement, viewport: FrameHeader) {
  const around = surface.getBoundingClientRect()
  const image = surface.querySelector('canvas')?.getBoundingClientRect() ?? around
  const scale = image.width / viewport.width
  const top = image.top - around.top + select.y * scale
  const bottom = top + select.height * scale
  const [above, below] = [top, around.height - bottom]
  const left = Math.max(image.left - around.left + select.x * scale, 0)
  const isBelow = below >= above || below >= SMALLEST * 2
  return {
    left: `${Math.min(left, around.width * 0.7)}px`,
    minWidth: `${Math.min(select.width * scale, around.width * 0.3)}px`,
    maxHeight: `${Math.max(isBelow ? below : above, SMALLEST)}px`,
    ...(isBelow
      ? { top: `${Math.min(bottom, around.height - SMALLEST)}px` }
      : { bottom: `${around.height - Math.max(top, SMALLEST)}px` })
  }
}
