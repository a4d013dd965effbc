// The scripts of the guide, in the browser: the choice of the language of code blocks, and the search, whose index is
// loaded when it is first used. Without scripts, all pages and both languages can be read.
const { document, localStorage, fetch, location, navigator } = /** @type {any} */ (globalThis);
const page = document.documentElement;
const root = new URL(page.dataset.root, location.href);

/** @param {string} language */
function choose(language) {
  page.dataset.language = language;
  for (const button of document.querySelectorAll('[data-choose]')) {
    button.setAttribute('aria-pressed', String(button.dataset.choose === language));
  }
}

const languages = document.querySelector('.languages');
if (languages !== null) {
  const names = [...languages.children].map(({ dataset }) => dataset.choose);
  const stored = localStorage.getItem('language');
  choose(names.includes(stored) ? stored : names[0]);
  languages.hidden = false;
  languages.addEventListener('click', (/** @type {any} */ { target }) => {
    const language = target.dataset.choose;
    if (language === undefined) return;
    localStorage.setItem('language', language);
    choose(language);
  });
}

// Without https there is no clipboard.
if (navigator.clipboard !== undefined) {
  for (const block of document.querySelectorAll('pre')) {
    const box = document.createElement('div');
    box.className = 'code';
    Object.assign(box.dataset, block.dataset);
    block.replaceWith(box);
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.querySelector('code').textContent);
      button.textContent = 'Copied';
    });
    box.append(block, button);
  }
}

const RESULTS_MAX = 12;
/** What to do comes before why it was decided. @param {string} id */
const boostDocument = (id) => (id.startsWith('decisions/') ? 0.3 : 1);

/** @type {Promise<any> | undefined} */
let index;

async function loadIndex() {
  const [{ default: MiniSearch }, response] = await Promise.all([
    import(new URL('minisearch.js', root).href),
    fetch(new URL('search.json', root)),
  ]);
  const { options, index: stored } = await response.json();
  return MiniSearch.loadJS(stored, options);
}

const search = document.querySelector('search');
const input = search.querySelector('input');
const found = search.querySelector('ol');
search.hidden = false;

input.addEventListener('input', async () => {
  const words = input.value;
  index ??= loadIndex();
  const results = (await index).search(words, { boostDocument }).slice(0, RESULTS_MAX);
  if (input.value !== words) return; // typed on meanwhile
  found.replaceChildren(...results.map(resultItem));
  if (results.length === 0 && words.trim() !== '') found.append('Nothing found');
});

/** @param {{ href: string, title: string, heading: string }} result */
function resultItem({ href, title, heading }) {
  const item = document.createElement('li');
  const link = item.appendChild(document.createElement('a'));
  link.href = new URL(href, root).href;
  link.textContent = heading;
  if (heading !== title) item.append(` ${title}`);
  return item;
}

document.addEventListener('keydown', (/** @type {any} */ event) => {
  if (event.key === '/' && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  }
  if (event.key === 'Escape') found.replaceChildren();
});
