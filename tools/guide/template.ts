// The HTML around the content of a page. Scripts and styles are files of the guide, so that the pages need no inline
// ones, and every address is relative: the guide works below any path of any host. The reference is the page above it.
import { CONTENTS } from './contents.ts';
import { escapeHtml, LANGUAGES, outputOf, type RenderedPage, relative } from './markdown.ts';

/** The languages that a page has code in, for its buttons. */
const languagesOf = (html: string): string[] =>
  Object.values(LANGUAGES).filter((language) => html.includes(`data-language="${language}"`));

export function pageHtml(source: string, page: RenderedPage): string {
  const to = (file: string): string => escapeHtml(relative(source, file));
  const languages = languagesOf(page.html);
  const navigation = CONTENTS.map(
    ({ title, entries }) =>
      `<h2>${title}</h2>\n<ul>${entries
        .map(({ source: other, label }) => {
          const current = other === source ? ' aria-current="page"' : '';
          return `<li><a href="${to(outputOf(other))}"${current}>${escapeHtml(label)}</a></li>`;
        })
        .join('')}</ul>`,
  ).join('\n');
  const buttons = languages.map((each) => `<button type="button" data-choose="${each}">${each}</button>`).join('');
  // Without scripts there is nothing to choose: both are shown.
  const chooser = languages.length > 1 ? `<div class="languages" hidden>${buttons}</div>\n` : '';
  const outline = page.headings
    .filter(({ depth }) => depth === 2)
    .map(({ id, text }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`)
    .join('');
  return `<!doctype html>
<html lang="en" data-root="${to('index.html').replace(/index\.html$/, '') || './'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.title)} - Manilla</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to('guide.css')}">
<script type="module" src="${to('guide.js')}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="name" href="${to('index.html')}">Manilla</a>
<a href="${to('index.html').replace(/index\.html$/, '')}../" aria-label="API reference">API</a>
<search hidden><input type="search" placeholder="Search" aria-label="Search" aria-controls="found">
<ol id="found" aria-live="polite"></ol></search>
</header>
<div class="columns">
<nav aria-label="Pages">
${navigation}
</nav>
<main id="content">
${chooser}${page.html.trim()}
</main>
<aside aria-label="On this page"><ul>${outline}</ul></aside>
</div>
</body>
</html>
`;
}
