import { render } from 'preact'
import './style.css'
import { start } from './store'
import { App } from './views/app'

const root = document.querySelector('#app')
if (root) render(<App />, root)
// Also when a link with a token is opened in this tab: only the fragment changes then.
window.addEventListener('hashchange', () => void start())
void start()
