import { useEffect, useRef, useState } from 'preact/hooks'
import type { FrameHeader, Session } from '../contract'
import { watch } from '../live'
import { nameOf } from '../store'

/** The shape of an image before its first frame. */
const FIRST_RATIO = 16 / 9

/** The live image of a session. It is watched only while it is in the visible part of the page. */
export function LiveImage(props: {
  session: Session
  /** Whether the server also sends the calls of this session. */
  calls?: boolean
  onFrame?: (header: FrameHeader) => void
}) {
  const { session, calls = false } = props
  const canvas = useRef<HTMLCanvasElement>(null)
  const [hasFrame, setHasFrame] = useState(false)
  const onFrame = useRef(props.onFrame)
  onFrame.current = props.onFrame

  useEffect(() => {
    const image = canvas.current
    if (!image) return undefined
    let isVisible = false
    const watched = watch(session.id, calls, (bitmap, header) => {
      image.width = bitmap.width
      image.height = bitmap.height
      image.getContext('2d')?.drawImage(bitmap, 0, 0)
      image.parentElement?.style.setProperty('--ratio', String(header.width / header.height))
      image.dataset.frame = String(header.frame)
      setHasFrame(true)
      onFrame.current?.(header)
    })
    const update = () => {
      const scale = window.devicePixelRatio
      const { clientWidth, clientHeight } = image
      if (!isVisible || clientWidth === 0) watched.stop()
      else watched.resize(Math.round(clientWidth * scale), Math.round(clientHeight * scale))
    }
    const size = new ResizeObserver(update)
    const visibility = new IntersectionObserver((entries) => {
      // Of several changes, the last one applies. The calls are needed without the image, too.
      isVisible = calls || (entries.at(-1)?.isIntersecting ?? false)
      update()
    })
    size.observe(image)
    visibility.observe(image)
    return () => {
      size.disconnect()
      visibility.disconnect()
      watched.stop()
    }
  }, [session.id, calls])

  return (
    <div class="image" style={{ '--ratio': String(FIRST_RATIO) }}>
      <canvas ref={canvas} role="img" aria-label={`Live image of ${nameOf(session)}`} />
      {!hasFrame && <span class="waiting muted">Waiting for an image…</span>}
    </div>
  )
}
