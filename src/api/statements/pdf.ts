// The statement of a month as PDF, for people: A4, with the headings on every page. The pages are written as they are
// read, so that a statement of any length needs the memory of one. Noto Sans has the letters of Nigeria's languages
// and the sign of the naira, which the standard fonts of PDF lack.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Statement, StatementRow } from './rows.ts';

const REGULAR = fileURLToPath(import.meta.resolve('@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf'));
const BOLD = fileURLToPath(import.meta.resolve('@expo-google-fonts/noto-sans/700Bold/NotoSans_700Bold.ttf'));

const MARGIN = 40;
/** Where the headings of the table stand on the first page, below what the statement is of, and on the others. */
const HEADINGS_Y = { first: 130, next: 60 };
const LINE_GAP = 6;
const COLUMNS = [
  { heading: 'Date', width: 62, align: 'left' },
  { heading: 'Details', width: 210, align: 'left' },
  { heading: 'Money out', width: 80, align: 'right' },
  { heading: 'Money in', width: 80, align: 'right' },
  { heading: 'Balance', width: 83, align: 'right' },
] as const;

/** The bytes of a file, page by page. */
export async function* statementPdf(
  statement: Statement,
  pages: AsyncIterable<StatementRow[]>,
): AsyncGenerator<Uint8Array> {
  const { walletId, owner, month, unit, until } = statement;
  const title = `Statement of ${month}`;
  const PDFDocument = createRequire(import.meta.url)('pdfkit') as typeof import('pdfkit'); // large, and seldom needed
  const doc = new PDFDocument({
    size: 'A4',
    margin: MARGIN,
    font: REGULAR,
    lang: 'en-NG',
    info: { Title: `${title}, ${walletId}` },
  });
  let page = 0;
  const bottom = doc.page.height - MARGIN;

  /** Draws one row of the table from `doc.y` on. */
  const drawRow = (cells: readonly string[], face = REGULAR): void => {
    doc.font(face).fontSize(8);
    const { y } = doc;
    let x = MARGIN;
    let end = y;
    COLUMNS.forEach(({ width, align }, index) => {
      doc.text(cells[index] ?? '', x, y, { width: width - LINE_GAP, align });
      end = Math.max(end, doc.y);
      x += width;
    });
    doc.y = end + LINE_GAP / 2;
    doc.moveTo(MARGIN, doc.y).lineTo(x, doc.y).lineWidth(0.3).stroke('#999999');
    doc.y += LINE_GAP / 2;
  };
  const heightOf = (details: string): number =>
    doc.fontSize(8).heightOfString(details, { width: COLUMNS[1].width - LINE_GAP }) + LINE_GAP;
  const beginPage = (headingsY: number): void => {
    page += 1;
    doc.font(REGULAR).fontSize(7);
    doc.text(`${title} · ${walletId} · page ${page}`, MARGIN, MARGIN - 15, { align: 'right' });
    doc.y = headingsY;
    drawRow(
      COLUMNS.map(({ heading }) => heading),
      BOLD,
    );
  };

  doc.font(BOLD).fontSize(16).text(title, MARGIN, MARGIN);
  doc.font(REGULAR).fontSize(9);
  doc.text(decomposed(owner)).text(`Wallet ${walletId}`);
  doc.text(`Amounts in ${unit}, times of Lagos${until === null ? '' : '. The month is not over'}`);
  beginPage(HEADINGS_Y.first);
  for await (const rows of pages) {
    for (const row of rows) {
      const details = detailsOf(row);
      if (doc.y + heightOf(details) > bottom) {
        doc.addPage();
        beginPage(HEADINGS_Y.next);
      }
      drawRow(
        [row.date.slice(0, 16), details, row.moneyOut, row.moneyIn, row.balance],
        row.date === '' ? BOLD : REGULAR,
      );
    }
    const drawn: Uint8Array | null = doc.read();
    if (drawn !== null) yield drawn;
  }
  doc.end();
  yield* doc;
}

/** Decomposed: of a letter that the font composes of two glyphs, copied text would have the whole for each. */
const decomposed = (text: string): string => text.normalize('NFD');

/** All that is known of an entry besides its amount, one fact a line. */
const detailsOf = ({ type, description, reference, counterparty, account }: StatementRow): string =>
  decomposed(
    [type, description, reference, [counterparty, account].filter(Boolean).join(', ')].filter(Boolean).join('\n'),
  );
