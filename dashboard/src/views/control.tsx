// Control of a page by the viewer: its input, and answers to the dialogs of the page.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { FrameHeader, Holder, PageDialog, Session } from '../contract'
import { LEAVE_SHORTCUT, forwardInput } from '../input'
import { choosers, connection, dialogs, failure, holders, selects, send } from '../live'
import { me } from '../store'
import { FilesForPage } from './files'
import { SelectOfPage } from './select'

function holderOf(session: Session): Holder {
  return holders.value[session.id] ?? (session.heldBy ? 'other' : null)
}

/** "Take control" or "Give back", unless the viewer may only read. */
export function ControlButton({ session }: { session: Session }) {
  const [isAsked, setAsked] = useState(false)
  const holder = holderOf(session)
  const isOffline = connection.value.state !== 'open'
  const error = failure.value
  useEffect(() => setAsked(false), [holder, isOffline])
  useEffect(() => {
    if (error) setAsked(false)
  }, [error])
  if (me.value.readOnly) return null
  if (holder === 'you')
    return (
      <button class="primary" onClick={() => send({ type: 'release', id: session.id })}>
        Give back
      </button>
    )
  return (
    <button
      class="primary"
      disabled={isAsked || isOffline}
      onClick={() => {
        failure.value = null
        setAsked(send({ type: 'hold', id: session.id }))
      }}
    >
      {isAsked ? 'Taking control…' : 'Take control'}
    </button>
  )
}

/** The image of a page. Forwards input while the viewer has control. */
export function Control(props: {
  session: Session
  viewport: { current: FrameHeader | null }
  children: ComponentChildren
}) {
  const { session, viewport, children } = props
  const isHeld = holderOf(session) === 'you'
  const surface = useRef<HTMLDivElement>(null)
  const keyboard = useRef<HTMLTextAreaElement>(null)
  const [hasScreenKeyboard, setScreenKeyboard] = useState(false)
  const dialog = dialogs.value[session.id]
  const chooser = choosers.value[session.id]
  const select = selects.value[session.id]

  useEffect(() => {
    const image = surface.current?.querySelector('canvas')
    if (!isHeld || !image || !keyboard.current) return undefined
    const input = forwardInput({
      image,
      keyboard: keyboard.current,
      viewport: () => viewport.current ?? { width: 0, height: 0 },
      send: (events) => send({ type: 'input', id: session.id, events })
    })
    return () => input.stop()
  }, [isHeld, session.id])
  // A viewer who leaves the view gives control back.
  const heldId = isHeld ? session.id : null
  const latestHeld = useRef(heldId)
  latestHeld.current = heldId
  useEffect(
    () => () => {
      if (latestHeld.current) send({ type: 'release', id: latestHeld.current })
    },
    []
  )

  return (
    <div class={isHeld ? 'screen held' : 'screen'}>
      <div class="surface" ref={surface}>
        {children}
        {isHeld && (
          <textarea
            ref={keyboard}
            class="keyboard"
            aria-label={`Keyboard input to the page. ${LEAVE_SHORTCUT} leaves it.`}
            inputMode={hasScreenKeyboard ? 'text' : 'none'}
            autocapitalize="off"
            autocomplete="off"
            spellcheck={false}
            rows={1}
          />
        )}
        {isHeld && select && surface.current && viewport.current && (
          <SelectOfPage
            key={`${select.x} ${select.y}`}
            {...{ session, select }}
            surface={surface.current}
            viewport={viewport.current}
            onClose={() => keyboard.current?.focus({ preventScroll: true })}
          />
        )}
      </div>
      {isHeld && (
        <div class="held-bar">
          <p class="small">
            <strong>You control this session.</strong> Calls of the agent wait.{' '}
            <kbd>{LEAVE_SHORTCUT}</kbd> moves the focus out of the page.
          </p>
          <button
            class="touch-only"
            aria-pressed={hasScreenKeyboard}
            onClick={() => {
              setScreenKeyboard(!hasScreenKeyboard)
              // Phones decide at the focus, and only during a tap, whether to show their keyboard.
              const field = keyboard.current
              if (!field) return
              field.inputMode = hasScreenKeyboard ? 'none' : 'text'
              field.blur()
              field.focus({ preventScroll: true })
            }}
          >
            Keyboard
          </button>
        </div>
      )}
      {chooser && !dialog && <FilesForPage {...{ session, chooser, isHeld }} />}
      {dialog && <DialogOfPage key={dialog.message} {...{ session, dialog, isHeld }} />}
    </div>
  )
}

const DIALOGS: Record<string, { title: string; accept: string; dismiss: string | null }> = {
  alert: { title: 'The page shows a message', accept: 'OK', dismiss: null },
  confirm: { title: 'The page asks for a confirmation', accept: 'OK', dismiss: 'Cancel' },
  prompt: { title: 'The page asks for a text', accept: 'OK', dismiss: 'Cancel' },
  beforeunload: { title: 'The page asks before it is left', accept: 'Leave', dismiss: 'Stay' }
}

function DialogOfPage(props: { session: Session; dialog: PageDialog; isHeld: boolean }) {
  const { session, dialog, isHeld } = props
  const id = useId()
  const [text, setText] = useState(dialog.defaultText ?? '')
  const { title, accept, dismiss } = DIALOGS[dialog.kind] ?? DIALOGS.confirm!
  const isPrompt = dialog.kind === 'prompt'
  const answer = (isAccepted: boolean) =>
    send({
      type: 'dialog',
      id: session.id,
      accept: isAccepted,
      text: isAccepted && isPrompt ? text : null
    })
  return (
    <div
      class="page-dialog"
      role="alertdialog"
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-message`}
    >
      <h2 id={`${id}-title`}>{title}</h2>
      <p id={`${id}-message`} class="message" dir="auto">
        {dialog.message}
      </p>
      {isPrompt && (
        <input
          type="text"
          aria-label="Answer"
          value={text}
          disabled={!isHeld}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Enter' && answer(true)}
        />
      )}
      {isHeld ? (
        <div class="tools">
          {dismiss && <button onClick={() => answer(false)}>{dismiss}</button>}
          <button class="primary" onClick={() => answer(true)}>
            {accept}
          </button>
        </div>
      ) : (
        !me.value.readOnly && <p class="small">Take control to answer it.</p>
      )}
    </div>
  )
}
