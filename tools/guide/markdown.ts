// A page of the repository as HTML: headings with the ids that GitHub gives them, and links between pages, images and
// headings as they are in the guide. Pure: which files there are is an argument.
import path from 'node:path';
import { Marked, type Tokens } from 'marked';
import { HOME } from './contents.ts';

export interface RenderedPage {
  title: string;
  html: string;
  headings: Heading[];
  /** The files besides pages that it shows, by their path in the repository. */
  images: string[];
}

export interface Heading {
  id: string;
  text: string;
  depth: number;
}

/** What a link of a page leads to. */
export interface Targets {
  isPage: (source: string) => boolean;
  isImage: (file: string) => boolean;
}

/** The languages of code blocks in the guides, between which a reader may choose. */
export const LANGUAGES: Readonly<Record<string, string>> = { sh: 'curl', ts: 'TypeScript' };
const GUIDES = path.posix.dirname(HOME);

/** The file of a page in the guide: `docs/rails/README.md` is `rails/index.html`, `CHANGELOG.md` `changelog.html`. */
export function outputOf(source: string): string {
  if (source === HOME) return 'index.html';
  const inGuide = source.replace(/^docs\/(guides\/)?/, '').replace(/\.md$/, '.html');
  return inGuide.replace(/\/README\.html$/, '/index.html').toLowerCase();
}

/** The file of an image in the guide. */
export const imageOf = (file: string): string => file.replace(/^docs\//, '');

/** The id of a heading, as GitHub makes it; a repeated one gets a number. */
function slugger(): (text: string) => string {
  const used = new Map<string, number>();
  return (text) => {
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    const repeated = used.get(slug) ?? 0;
    used.set(slug, repeated + 1);
    return repeated === 0 ? slug : `${slug}-${repeated}`;
  };
}

export function renderPage(source: string, markdown: string, targets: Targets): RenderedPage {
  const page: RenderedPage = { title: source, html: '', headings: [], images: [] };
  const idOf = slugger();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        const text = this.parser.parseInline(tokens, this.parser.textRenderer);
        const id = idOf(text);
        if (depth === 1) page.title = text;
        else page.headings.push({ id, text, depth });
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const text = this.parser.parseInline(tokens);
        const target = linkOf(source, href, targets);
        // A file of the repository that is no page.
        return target === null ? text : `<a href="${escapeHtml(target)}">${text}</a>`;
      },
      image({ href, text }: Tokens.Image) {
        const file = path.posix.join(path.posix.dirname(source), href);
        page.images.push(file);
        return `<img src="${escapeHtml(relative(source, imageOf(file)))}" alt="${escapeHtml(text)}" loading="lazy">`;
      },
      code({ text, lang }: Tokens.Code) {
        const language = path.posix.dirname(source) === GUIDES ? LANGUAGES[lang ?? ''] : undefined;
        const label = language === undefined ? '' : ` data-language="${language}"`;
        return `<pre${label} tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`;
      },
      // Comments are for the tests of the pages; there is no other HTML.
      html: () => '',
    },
  });
  page.html = marked.parse(markdown, { async: false });
  return page;
}

function linkOf(source: string, href: string, { isPage, isImage }: Targets): string | null {
  if (/^(https?:|mailto:|#)/.test(href)) return href;
  const [target = '', hash] = href.split('#', 2);
  const file = path.posix.join(path.posix.dirname(source), target).replace(/\/$/, '');
  const anchor = hash === undefined ? '' : `#${hash}`;
  const page = [file, `${file}/README.md`].find(isPage);
  if (page !== undefined) return relative(source, outputOf(page)) + anchor;
  return isImage(file) ? relative(source, imageOf(file)) : null;
}

/** The address of a file of the guide from a page of it. */
export function relative(source: string, file: string): string {
  return path.posix.relative(path.posix.dirname(outputOf(source)), file);
}

/** The text of a page under each of its headings, for the search. */
export function sectionsOf({ title, html }: RenderedPage): { heading: string; id: string; text: string }[] {
  const parts = html.split(/<h[23] id="([^"]*)">(.*?)<\/h[23]>/);
  const sections = [{ heading: title, id: '', text: plain(parts[0] ?? '') }];
  for (let index = 1; index < parts.length; index += 3) {
    const [id = '', heading = '', text = ''] = parts.slice(index, index + 3);
    sections.push({ heading: plain(heading), id, text: plain(text) });
  }
  return sections;
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function plain(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
