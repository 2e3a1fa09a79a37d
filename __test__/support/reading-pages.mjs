// Pages with frames and shadow roots, for tests of tools that read pages.
import { renderPage } from './html.mjs'

const sentence =
  'The quick brown fox jumps over the lazy dog, and then, of course, over the fence and the brook behind it. '

export const READING_PAGES = {
  '/outer': renderPage(
    'Outer',
    `<h1>Outer</h1><p class="line">First line</p><p class="line">Second line</p>
    <p id="gone" style="display:none">Not to be seen</p><p id="faint" style="visibility:hidden">Nor this</p>
    <iframe id="inner" src="/inner" width="500" height="260" style="border:3px solid;padding:5px"></iframe>
    <div id="host"></div><a href="/other?a=1#top" id="link" title="Away">Other</a>
    <script>
      host.attachShadow({ mode: 'open' }).innerHTML = '<p id="deep">In the shadow</p><button disabled>Shadowed</button><a href="/shadow">Shadow link</a>'
    </script>`
  ),
  '/inner': renderPage(
    'Inner',
    `<p id="text">Inside the frame</p><input id="field" value="framed" aria-label="Field"><button id="off" disabled>Off</button>
    <a href="/framed">Framed link</a><table id="table"><tr><th>Key<th>Value<tr><td>a<td>1</table>
    <iframe id="innermost" srcdoc="<p id=x>Innermost text</p>" width="200" height="60"></iframe>`
  ),
  '/fields': renderPage(
    'Fields',
    `<input id="name" value="Ada" data-empty=""><input id="secret" type="password" value="hunter2"><textarea id="note">two
lines</textarea><select id="one"><option value="a">A<option value="b" selected>B</select>
    <select id="several" multiple><option value="x" selected>X<option value="y"><option value="z" selected>Z</select>
    <input id="agree" type="checkbox" checked><div id="rich" contenteditable>Rich text</div><p id="none">None</p>`
  ),
  '/tables': renderPage(
    'Tables',
    `<table id="spans"><caption>Spans</caption><thead><tr><th rowspan="2">Name<th colspan="2">Score<tr><th>One<th>Two</thead>
      <tr><td rowspan="2">Ada<td>1<td>2<tr><td colspan="2">3</table>
    <div role="grid" id="grid" aria-label="Grid"><div role="row"><span role="columnheader">K</span><span role="columnheader">V</span></div>
      <div role="row"><span role="gridcell">k</span><span role="gridcell">v</span></div></div>
    <table id="bare"><tr><td>1<td>2</table>
    <table id="fields"><tr><td><input value="Ada"> et al.<td><select><option>S<option selected>M</select><td><input type="checkbox" checked>
      <td><input type="radio"><td><input type="password" value="hunter2"><input type="hidden" value="h"></table><p id="none">No table</p>`
  ),
  '/article': renderPage(
    'An article',
    `<nav><a href="/one">Menu one</a> <a href="/two">Menu two</a></nav>
    <article><h1>An article</h1><p>${sentence.repeat(4)}</p><h2>Its part</h2><p>${sentence.repeat(4)}</p>
      <ul><li>one</li><li><a href="relative">two</a></li></ul><pre><code>let x = 1</code></pre><p>${sentence.repeat(3)}</p></article>
    <footer>Imprint and so on</footer>`,
    '<meta name="description" content="About foxes"><meta property="og:title" content="Foxes"><link rel="canonical" href="/canonical">' +
      '<script type="application/ld+json">{"@type": "Article"}</script>'
  ),
  '/board': renderPage('Board', '<h1>Board</h1><p><a href="/new">New</a></p><p>3 open</p>'),
  '/long': renderPage(
    'Long',
    `<h1>Long</h1>${Array.from({ length: 600 }, (_, i) => `<p>${i} ${sentence}</p>`).join('')}<p id="end">The very end</p>`
  ),
  '/shapes': renderPage(
    'Shapes',
    `<style>body{margin:0;background:#fff}</style><div id="box" style="width:120px;height:80px;background:#08f"></div>
    <button style="position:absolute;left:200px;top:50px">Press</button><iframe src="/framed-shape" style="position:absolute;left:300px;top:100px;border:0" width="300" height="200"></iframe>
    <div style="height:2000px"></div><div id="below" style="width:60px;height:40px;background:#0a0"></div><button id="low">Low</button>`
  ),
  '/framed-shape': renderPage(
    'Framed',
    '<style>body{margin:0}</style><div id="shape" style="width:50px;height:30px;background:#f0f"></div><button>Framed</button>'
  ),
  '/still': renderPage(
    'Still',
    '<style>body{margin:0;background:#fff}</style><div id="box" style="width:100px;height:100px;background:#000"></div>'
  )
}
