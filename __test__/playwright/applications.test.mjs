// Compares `playwrightSnapshot` with Playwright's snapshot in three web applications.
import { describe, test } from 'node:test'
import { serveApp } from '../../scripts/demo-app.mjs'
import { missingDjango, missingJupyter, startDjango, startJupyter } from '../apps/programs.mjs'
import { shared } from '../support/scope.mjs'
import { PageComparisons } from './page-snapshots.mjs'

/** @typedef {import('playwright-core').Page} Page */

/**
 * Returns an item that opens `url` and then brings the page into a state.
 * @param {string} label @param {string} url @param {(page: Page) => Promise<unknown>} prepare
 * @returns {import('./page-snapshots.mjs').Item}
 */
const item = (label, url, prepare) => ({
  label,
  open: async (comparison) => {
    await comparison.open(url)
    await prepare(comparison.page)
  }
})

/** Logs in to Django's admin, unless the page is logged in. @param {Page} page */
async function logIn(page) {
  const name = page.getByLabel('Username:', { exact: true })
  if (!(await page.getByRole('button', { name: 'Log in' }).isVisible())) return
  await name.fill('admin')
  await page.getByLabel('Password:', { exact: true }).fill('troupe-test')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('button', { name: 'Log out' }).waitFor()
}

describe('snapshots of applications against those of Playwright', { timeout: 120_000 }, () => {
  const scope = shared()
  const pages = new PageComparisons(scope)

  test('Swagger UI: at least 99.5 % of the lines', async (t) => {
    const app = await serveApp()
    t.after(app.close)
    const operation = (page) => page.getByRole('button', { name: 'GET /api/pets/{petId}' }).first()
    const expand = async (/** @type {Page} */ page) => {
      await operation(page).click()
      await page.getByRole('button', { name: 'Try it out' }).click()
    }
    await pages.assertGoal(t, [
      item('all operations', app.url, (page) => operation(page).waitFor()),
      item('an operation', app.url, expand),
      item('a response', app.url, async (page) => {
        await expand(page)
        await page.getByPlaceholder('petId').fill('7')
        await page.getByRole('button', { name: 'Execute' }).click()
        await page.getByText('Response body').waitFor()
      })
    ])
  })

  test(
    'the admin of Django: at least 99.5 % of the lines',
    { skip: missingDjango() },
    async (t) => {
      const url = await startDjango(t)
      const paths = [
        ...['', 'auth/', 'auth/user/', 'auth/user/?q=user1&is_staff__exact=0', 'auth/user/add/'],
        ...['auth/user/1/change/', 'auth/user/1/history/', 'auth/user/2/delete/', 'auth/group/'],
        ...['auth/group/add/', 'password_change/']
      ]
      const opened = paths.map((path) =>
        item(path, `${url}${path}`, async (page) => {
          await logIn(page)
          await page.waitForLoadState('load')
        })
      )
      await pages.assertGoal(t, [item('log in', url, async () => {}), ...opened])
    }
  )

  test('JupyterLab: at least 99.5 % of the lines', { skip: missingJupyter() }, async (t) => {
    const { url } = await startJupyter(t)
    const openNotebook = async (/** @type {Page} */ page) => {
      await page.getByRole('listitem', { name: 'sums.ipynb' }).dblclick()
      await page.getByRole('heading', { name: 'Sums' }).waitFor()
    }
    const launcher = (/** @type {Page} */ page) => page.getByRole('tab', { name: 'Launcher' })
    await pages.assertGoal(t, [
      item('the launcher', url, (page) => launcher(page).first().waitFor()),
      item('a menu', url, async (page) => {
        await page.getByRole('menuitem', { name: 'View', exact: true }).click()
        await page.getByRole('menu').waitFor()
      }),
      item('a notebook', url, openNotebook),
      item('the menu of a file', url, async (page) => {
        await page.getByRole('listitem', { name: 'sums.ipynb' }).click({ button: 'right' })
        await page.getByRole('menu').waitFor()
      })
    ])
  })
})
