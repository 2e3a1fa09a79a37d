// The answer to a file chooser of the page: files of the viewer's machine.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { api } from '../api'
import type { Failure, PageFileChooser, Session } from '../contract'
import { failureOf, me } from '../store'
import { FailureNotice } from './parts'

/** The maximum size of the files that the server accepts, in bytes. */
const MAX_UPLOAD = 100 * 2 ** 20

const TOO_LARGE: Failure = {
  code: 'FILES_TOO_LARGE',
  message: 'The files have more than 100 MB.',
  suggestion: 'Choose smaller files.'
}

export function FilesForPage(props: {
  session: Session
  chooser: PageFileChooser
  isHeld: boolean
}) {
  const { session, chooser, isHeld } = props
  const id = useId()
  const title = useRef<HTMLHeadingElement>(null)
  const [files, setFiles] = useState<File[]>([])
  const [error, setError] = useState<Failure | null>(null)
  const [isSending, setSending] = useState(false)
  useEffect(() => {
    if (isHeld) title.current?.focus()
  }, [isHeld])

  async function answer(chosen: File[]): Promise<void> {
    if (chosen.reduce((sum, { size }) => sum + size, 0) > MAX_UPLOAD) return setError(TOO_LARGE)
    setError(null)
    setSending(true)
    try {
      await api.answerFileChooser(session.id, chosen)
    } catch (reason) {
      setError(failureOf(reason))
    }
    setSending(false)
  }

  return (
    <div class="page-dialog" role="dialog" aria-labelledby={id}>
      <h2 id={id} ref={title} tabIndex={-1}>
        {chooser.multiple ? 'The page asks for files' : 'The page asks for a file'}
      </h2>
      {isHeld ? (
        <>
          <input
            type="file"
            aria-label={chooser.multiple ? 'Files' : 'File'}
            multiple={chooser.multiple}
            disabled={isSending}
            onChange={(event) => setFiles([...(event.currentTarget.files ?? [])])}
          />
          {error && <FailureNotice error={error} />}
          <div class="tools">
            <button disabled={isSending} onClick={() => void answer([])}>
              Cancel
            </button>
            <button
              class="primary"
              disabled={isSending || files.length === 0}
              onClick={() => void answer(files)}
            >
              {isSending ? 'Uploading…' : 'Upload'}
            </button>
          </div>
        </>
      ) : (
        !me.value.readOnly && <p class="small">Take control to answer it.</p>
      )}
    </div>
  )
}
