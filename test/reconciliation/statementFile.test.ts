// Statements in files: what is read of CSV and camt.053, and the place of everything that is wrong.
import { describe, expect, test } from '@jest/globals';
import { parseCamt053, parseCsvStatement } from '../../src/reconciliation/statementFile.ts';

const OURS = `svc_${'0'.repeat(26)}_wth`;
const iso = ({ lines, closing }: ReturnType<typeof parseCsvStatement>) => ({
  lines: lines.map(({ kind, reference, amount, at }) => [kind, reference, amount, at.toISOString()].join(' ')),
  closing: closing && `${closing.balance} ${closing.at.toISOString()}`,
});

const CSV = `kind,reference,amount,at
credit,s1,100000,2026-11-22T09:00:00+01:00
sent,"${OURS}",5000,2026-11-22T10:00:00Z

charge,c1,50,2026-11-22T11:00:00Z
closing_balance,,-94950,2026-11-23T00:00:00+01:00
`;

describe('CSV', () => {
  test('has lines, and a balance, also below zero', () => {
    expect(iso(parseCsvStatement(CSV))).toEqual({
      lines: [
        'credit s1 100000 2026-11-22T08:00:00.000Z',
        `sent ${OURS} 5000 2026-11-22T10:00:00.000Z`,
        'charge c1 50 2026-11-22T11:00:00.000Z',
      ],
      closing: '-94950 2026-11-22T23:00:00.000Z',
    });
    expect(iso(parseCsvStatement('\uFEFFkind,reference,amount,at\r\n'))).toEqual({ lines: [], closing: null });
  });

  test.each([
    ['another header', CSV.replace('amount', 'value'), 'line 1, column 3: the header must be kind,reference,amount,at'],
    ['an unknown kind', CSV.replace('charge', 'fee'), 'line 5, column 1: kind must be one of credit, sent,'],
    ['no reference', CSV.replace('s1', ''), 'line 2, column 2: reference is missing'],
    [
      'naira instead of kobo',
      CSV.replace('5000,', '50.00,'),
      'line 3, column 3: amount must be a whole number of kobo',
    ],
    ['a negative amount', CSV.replace(',50,', ',-50,'), 'line 5, column 3: amount must be more than 0'],
    [
      'a time without a zone',
      CSV.replace('11:00:00Z', '11:00:00'),
      'line 5, column 4: at must be a time with a time zone',
    ],
    ['a missing field', CSV.replace(',50,', ','), 'line 5, column 4: Invalid Record Length'],
    ['a quote that is not closed', CSV.replace('"\n', '\n').replace(`${OURS}"`, OURS), 'line '],
    [
      'two balances',
      `${CSV}closing_balance,,1,2026-11-23T00:00:00Z\n`,
      'line 7, column 1: there is a second closing_balance',
    ],
  ])('with %s is refused with its place', (_, text, problem) => {
    expect(() => parseCsvStatement(text)).toThrow(problem);
  });
});

const ntry = (content: string) => `   <Ntry>${content}</Ntry>\n`;
const amt = (text: string, side: string) =>
  `<Amt Ccy="NGN">${text}</Amt><CdtDbtInd>${side}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>`;
const DAY = '<BookgDt><Dt>2026-11-22</Dt></BookgDt>';
const code = (sub: string) =>
  `<BkTxCd><Domn><Cd>ACMT</Cd><Fmly><Cd>MDOP</Cd><SubFmlyCd>${sub}</SubFmlyCd></Fmly></Domn></BkTxCd>`;
const refs = (name: string, value: string) =>
  `<NtryDtls><TxDtls><Refs><${name}>${value}</${name}></Refs></TxDtls></NtryDtls>`;
const XML = `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08">
 <BkToCstmrStmt>
  <GrpHdr><MsgId>1</MsgId></GrpHdr>
  <Stmt>
   <Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="NGN">1.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-22</Dt></Dt></Bal>
   <Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="NGN">949.5</Amt><CdtDbtInd>DBIT</CdtDbtInd><Dt><Dt>2026-11-22</Dt></Dt></Bal>
${[
  `${amt('1000.00', 'CRDT')}<BookgDt><DtTm>2026-11-22T09:00:00+01:00</DtTm></BookgDt>${refs('TxId', 's1')}`,
  `${amt('50', 'DBIT')}${DAY}${refs('EndToEndId', OURS)}`,
  `${amt('50', 'CRDT')}${DAY}${refs('EndToEndId', OURS)}`,
  `${amt('0.29', 'DBIT')}${DAY}<AcctSvcrRef>c1</AcctSvcrRef>${code('CHRG')}`,
  `${amt('2.5', 'CRDT')}${DAY}<AcctSvcrRef>i1</AcctSvcrRef>${code('INTR')}`,
  `${amt('700', 'DBIT')}${DAY}<AcctSvcrRef>p1</AcctSvcrRef>${code('SWEP')}`,
  `${amt('7', 'DBIT')}${DAY}<AcctSvcrRef>x1</AcctSvcrRef>`,
  amt('9', 'DBIT').replace('BOOK', 'PDNG') + DAY,
  `${amt('3', 'CRDT')}${DAY}<NtryDtls><TxDtls><Amt Ccy="NGN">1</Amt><Refs><TxId>b1</TxId></Refs></TxDtls><TxDtls><Amt Ccy="NGN">2</Amt><Refs><TxId>b2</TxId></Refs></TxDtls></NtryDtls>`,
]
  .map(ntry)
  .join('')}  </Stmt>
 </BkToCstmrStmt>
</Document>
`;

describe('camt.053', () => {
  test('has a line for each booked entry, and for each transaction of a batch booking; a day is one in Nigeria', () => {
    const day = '2026-11-21T23:00:00.000Z';
    expect(iso(parseCamt053(XML))).toEqual({
      lines: [
        'credit s1 100000 2026-11-22T08:00:00.000Z',
        `sent ${OURS} 5000 ${day}`,
        `returned ${OURS} 5000 ${day}`,
        `charge c1 29 ${day}`,
        `interest i1 250 ${day}`,
        `settlement p1 70000 ${day}`,
        `sent x1 700 ${day}`,
        `credit b1 100 ${day}`,
        `credit b2 200 ${day}`,
      ],
      closing: '-94950 2026-11-22T23:00:00.000Z',
    });
  });

  test.each([
    ['no XML', 'kind,reference', 'line 1, column '],
    ['an element that is not closed', XML.replace('</Stmt>', ''), 'line 18, column '],
    ['another message', '<Document><BkToCstmrDbtCdtNtfctn/></Document>', 'line 1, column '],
    ['another currency', XML.replace('"NGN">0.29', '"USD">0.29'), 'line 11, column 10: Amt: must be in NGN'],
    [
      'three decimals',
      XML.replace('0.29', '0.295'),
      'line 11, column 10: Amt: must be an amount with at most two decimals',
    ],
    [
      'no reference',
      XML.replace('<AcctSvcrRef>x1</AcctSvcrRef>', ''),
      'line 14, column 4: Ntry: an entry has no reference',
    ],
    [
      'a day that does not exist',
      XML.replace('<Dt>2026-11-22</Dt></BookgDt><AcctSvcrRef>i1', '<Dt>2026-13-22</Dt></BookgDt><AcctSvcrRef>i1'),
      'line 12, column 4: Ntry: the booking date',
    ],
    [
      'a batch that does not add up',
      XML.replace('"NGN">2<', '"NGN">3<'),
      'line 16, column 4: Ntry: the transactions of an entry',
    ],
  ])('with %s is refused with its place', (_, text, problem) => {
    expect(() => parseCamt053(text)).toThrow(problem);
  });
});
