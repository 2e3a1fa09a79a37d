import { render } from 'preact'
import './style.css'
import { start } from './store'
import { App } from './views/app'

const root = document.querySelector('#app')
if (root) render(<App />, root)
// If a link with a token is opened in this tab, only the fragment changes: the page is not
// reloaded.
window.addEventListener('hashchange', () => void start())
void start()
