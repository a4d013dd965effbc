// One statement, written in every format, is read as the same lines.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readStatementFile } from '../../../src/reconciliation/files/read.ts';
import { dayAfter, dayOf, dayStart } from '../../../src/times.ts';

const KINDS = ['credit', 'recalled', 'sent', 'returned', 'charge', 'interest'] as const;

interface Line {
  kind: (typeof KINDS)[number];
  day: string;
  amount: number;
  /** The bank's word; of a transfer our reference. */
  reference: string;
}

interface Written {
  account: string;
  lines: Line[];
  closing: number;
  closingDay: string;
}

const isTransfer = ({ kind }: Line): boolean => kind === 'sent' || kind === 'returned';
const isIn = ({ kind }: Line): boolean => kind === 'credit' || kind === 'returned' || kind === 'interest';
const naira = (kobo: number, point: string, decimals = 2): string =>
  `${Math.floor(kobo / 100)}${point}${String(kobo % 100).padStart(2, '0')}${'0'.repeat(decimals - 2)}`;

const day = fc
  .integer({ min: 0, max: 400 })
  .map((days) => dayOf(new Date(dayStart('2026-01-01').getTime() + days * 86_400_000)));
const letters = (length: number, of: string) =>
  fc.array(fc.constantFrom(...of.split('')), { minLength: length, maxLength: length }).map((all) => all.join(''));
const line: fc.Arbitrary<Line> = fc
  .tuple(
    fc.constantFrom(...KINDS),
    day,
    fc.integer({ min: 1, max: 1_000_000_000_000 }),
    letters(26, '0123456789abcdefghjkmnpqrstvwxyz'),
    fc.oneof(
      fc.constant('SMS-ALERT'),
      fc.integer({ min: 1, max: 1_000_000_000 }).map((id) => `R${id}`),
    ),
  )
  .map(([kind, at, amount, id, word]) => {
    const one: Line = { kind, day: at, amount, reference: word };
    return isTransfer(one) ? { ...one, reference: `svc_${id}_wth` } : one;
  });
const statement: fc.Arbitrary<Written> = fc.record({
  account: letters(10, '0123456789'),
  lines: fc.array(line, { maxLength: 12 }),
  closing: fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }),
  closingDay: day,
});

function asCsv({ lines, closing, closingDay }: Written): string {
  const rows = lines.map(({ kind, reference, amount, day: at }) => `${kind},${reference},${amount},${at}T00:00:00`);
  return [
    'kind,reference,amount,at',
    ...rows,
    `closing_balance,,${closing},${dayAfter(closingDay)}T00:00:00+01:00`,
  ].join('\n');
}

function asCamt(version: '02' | '04' | '08' | '10') {
  return ({ account, lines, closing, closingDay }: Written): string => {
    const amt = (kobo: number) => `<Amt Ccy="NGN">${naira(kobo, '.', version === '10' ? 5 : 2)}</Amt>`;
    const sts = version === '02' || version === '04' ? '<Sts>BOOK</Sts>' : '<Sts><Cd>BOOK</Cd></Sts>';
    const entries = lines.map((one) => {
      const side = isIn(one) ? 'CRDT' : 'DBIT';
      const code = { charge: 'CHRG', interest: 'INTR' }[one.kind as string] ?? 'DMCT';
      const name = isTransfer(one) ? 'EndToEndId' : version === '08' ? 'AcctSvcrRef' : 'TxId';
      const amount = version === '02' ? `<AmtDtls><TxAmt>${amt(one.amount)}</TxAmt></AmtDtls>` : amt(one.amount);
      return `<Ntry>${amt(one.amount)}<CdtDbtInd>${side}</CdtDbtInd>${one.kind === 'recalled' ? '<RvslInd>true</RvslInd>' : ''}${sts}
        <BookgDt><Dt>${one.day}${version === '04' ? '+01:00' : ''}</Dt></BookgDt>
        <BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>${code}</SubFmlyCd></Fmly></Domn></BkTxCd>
        <NtryDtls><TxDtls><Refs><${name}>${one.reference}</${name}></Refs>${amount}</TxDtls></NtryDtls></Ntry>`;
    });
    return `<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.${version}"><BkToCstmrStmt>
      <Stmt><Acct><Id><Othr><Id>${account}</Id></Othr></Id></Acct>
      <Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp>${amt(Math.abs(closing))}
        <CdtDbtInd>${closing < 0 ? 'DBIT' : 'CRDT'}</CdtDbtInd><Dt><Dt>${closingDay}</Dt></Dt></Bal>
      ${entries.join('')}</Stmt></BkToCstmrStmt></Document>`;
  };
}

function asMt940(end: string, wrap: number) {
  return ({ account, lines, closing, closingDay }: Written): string => {
    const short = (date: string): string => date.slice(2).replaceAll('-', '');
    const entries = lines.flatMap((one) => {
      const mark = one.kind === 'recalled' ? 'RC' : isIn(one) ? 'C' : 'D';
      const code = { charge: 'CHG', interest: 'INT' }[one.kind as string] ?? 'TRF';
      const refs = isTransfer(one) ? 'NONREF' : `NONREF//${one.reference}`;
      const text = `NIP TRANSFER/${isTransfer(one) ? one.reference : 'ADA OBI'}/LAGOS`;
      const wrapped = text.match(new RegExp(`.{1,${wrap}}`, 'g')) ?? [];
      return [
        `:61:${short(one.day)}${short(one.day).slice(2)}${mark}N${naira(one.amount, ',')}N${code}${refs}`,
        `:86:${wrapped.join(end)}`,
      ];
    });
    const side = closing < 0 ? 'D' : 'C';
    return [
      ':20:X',
      `:25:${account}`,
      ':28C:1/1',
      ...entries,
      `:62F:${side}${short(closingDay)}NGN${naira(Math.abs(closing), ',')}`,
      '-',
    ].join(end);
  };
}

const FORMATS: [string, (written: Written) => string][] = [
  ['camt.053.001.02', asCamt('02')],
  ['camt.053.001.04', asCamt('04')],
  ['camt.053.001.08', asCamt('08')],
  ['camt.053.001.10', asCamt('10')],
  ['MT940', asMt940('\n', 65)],
  ['MT940 with short lines and CR', asMt940('\r', 20)],
];

const read = (text: string) => {
  const { lines, closing } = readStatementFile(Buffer.from(text), { format: null, account: null, booked: {} });
  return { lines, closing };
};

test.each(FORMATS)('a statement in %s is read as in CSV', (_, write) => {
  fc.assert(
    fc.property(statement, (written) => {
      const csv = read(asCsv(written));
      expect(read(write(written))).toEqual(csv);
      expect(csv.lines).toHaveLength(written.lines.length);
      // What the bank does by itself is told apart, however often its word repeats.
      const own = csv.lines.filter(({ kind }) => kind === 'charge' || kind === 'interest');
      expect(new Set(own.map(({ kind, reference }) => `${kind} ${reference}`)).size).toBe(own.length);
    }),
  );
});
