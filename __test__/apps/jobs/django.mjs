// Django's admin: a group with a permission, a user in it, a user deleted by an action of the list,
// a filter.
import { missingDjango, startDjango } from '../programs.mjs'

const PERMISSION = 'Authentication and Authorization | user | Can view user'

/** @type {import('./agent.mjs').Job} */
export const django = {
  name: 'django',
  title: "Django's admin",
  task: 'a group with a permission, a user in it, and another user deleted',
  missing: missingDjango,
  start: startDjango,

  async troupe(agent, url) {
    await agent.act('navigate', { url })
    await agent.see(/textbox "Username/)
    await agent.batch(
      ['fill', { selector: 'label=Username', value: 'admin' }],
      ['fill', { selector: 'label=Password', value: 'troupe-test' }],
      ['click', { selector: 'role=button[name="Log in"]' }]
    )
    await agent.see(/link "Groups"/)
    await agent.act('click', { selector: agent.ref(/link "Groups"/, /link "Add"/) })
    await agent.see(/listbox "Available permissions/)
    await agent.batch(
      ['fill', { selector: agent.ref(/textbox "Name/), value: 'Proofreaders' }],
      ['select', { selector: agent.ref(/listbox "Available permissions/), value: PERMISSION }],
      ['click', { selector: agent.ref(/button "Choose selected permissions"/) }],
      ['click', { selector: agent.ref(/button "Save"/) }],
      ['wait_for', { text: 'was added successfully' }],
      ['navigate', { url: `${url}auth/user/add/` }]
    )
    await agent.see(/textbox "Password confirmation/)
    await agent.batch(
      ['fill', { selector: agent.ref(/textbox "Username/), value: 'grace' }],
      ['fill', { selector: agent.ref(/textbox "Password:/), value: 'Compiler-1952' }],
      ['fill', { selector: agent.ref(/textbox "Password confirmation/), value: 'Compiler-1952' }],
      ['click', { selector: agent.ref(/button "Save and continue editing"/) }]
    )
    await agent.see(/was added successfully/)
    await agent.batch(
      ['fill', { selector: 'label=First name', value: 'Grace' }],
      ['fill', { selector: 'label=Last name', value: 'Hopper' }],
      ['fill', { selector: 'label=Email address', value: 'grace@example.com' }],
      ['check', { selector: 'label=Staff status' }],
      ['select', { selector: agent.ref(/listbox "Available groups/), value: 'Proofreaders' }],
      ['click', { selector: 'role=button[name="Choose selected groups"]' }],
      ['click', { selector: 'role=button[name="Save"][exact]' }],
      ['wait_for', { text: 'was changed successfully' }],
      ['navigate', { url: `${url}auth/user/?q=user1` }]
    )
    await agent.act('find', { text: 'user17' })
    await agent.batch(
      ['check', { selector: agent.ref(/checkbox .*user17/) }],
      ['select', { selector: agent.ref(/combobox "Action/), value: 'Delete selected users' }],
      ['click', { selector: agent.ref(/button "Go"/) }]
    )
    await agent.see(/button "Yes, I’m sure"/)
    await agent.batch(
      ['click', { selector: agent.ref(/button "Yes, I’m sure"/) }],
      ['wait_for', { text: 'Successfully deleted 1 user' }],
      ['navigate', { url: `${url}auth/user/?is_staff__exact=1` }],
      ['find', { text: 'users' }]
    )
    agent.assertLatestShows(/8 users/)
  },

  async peer(agent, url) {
    const textbox = (/** @type {RegExp} */ pattern, /** @type {string} */ value) => ({
      ...{ name: pattern.source, type: 'textbox', target: agent.ref(pattern), value }
    })
    const click = (/** @type {RegExp} */ pattern, /** @type {RegExp} */ next = undefined) =>
      agent.act('browser_click', { element: pattern.source, target: agent.ref(pattern, next) })

    await agent.act('browser_navigate', { url })
    await agent.see(/textbox "Username/)
    await agent.act('browser_fill_form', {
      fields: [textbox(/textbox "Username/, 'admin'), textbox(/textbox "Password/, 'troupe-test')]
    })
    await click(/button "Log in"/)
    await agent.see(/link "Groups"/)
    await click(/link "Groups"/, /link "Add"/)
    await agent.see(/listbox "Available permissions/)
    await agent.act('browser_type', {
      ...{ element: 'Name', target: agent.ref(/textbox "Name/), text: 'Proofreaders' }
    })
    await agent.act('browser_select_option', {
      element: 'Available permissions',
      target: agent.ref(/listbox "Available permissions/),
      values: [PERMISSION]
    })
    await click(/button "Choose selected permissions"/)
    await click(/button "Save" /)
    await agent.act('browser_find', { text: 'was added successfully' })
    await agent.act('browser_navigate', { url: `${url}auth/user/add/` })
    await agent.see(/textbox "Password confirmation/)
    await agent.act('browser_fill_form', {
      fields: [
        textbox(/textbox "Username/, 'grace'),
        textbox(/textbox "Password:/, 'Compiler-1952'),
        textbox(/textbox "Password confirmation/, 'Compiler-1952')
      ]
    })
    await click(/button "Save and continue editing"/)
    await agent.see(/was added successfully/)
    await agent.act('browser_fill_form', {
      fields: [
        textbox(/textbox "First name/, 'Grace'),
        textbox(/textbox "Last name/, 'Hopper'),
        textbox(/textbox "Email address/, 'grace@example.com'),
        {
          ...{ name: 'Staff status', type: 'checkbox', value: 'true' },
          target: agent.ref(/checkbox "Staff status"/)
        }
      ]
    })
    await agent.act('browser_select_option', {
      element: 'Available groups',
      target: agent.ref(/listbox "Available groups/),
      values: ['Proofreaders']
    })
    await click(/button "Choose selected groups"/)
    await click(/button "Save" /)
    await agent.act('browser_find', { text: 'was changed successfully' })
    await agent.act('browser_navigate', { url: `${url}auth/user/?q=user1` })
    await agent.snapshot(/combobox "Action/)
    await click(/checkbox .*user17/)
    await agent.act('browser_select_option', {
      element: 'Action',
      target: agent.ref(/combobox "Action/),
      values: ['Delete selected users']
    })
    await click(/button "Go"/)
    await agent.see(/button "Yes, I’m sure"/)
    await click(/button "Yes, I’m sure"/)
    await agent.act('browser_find', { text: 'Successfully deleted 1 user' })
    await agent.act('browser_navigate', { url: `${url}auth/user/?is_staff__exact=1` })
    await agent.search('8 users', /8 users/)
  }
}
