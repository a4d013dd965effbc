// Statements in files: what is read of CSV, camt.053 and MT940, and the place of everything that is wrong.
import { describe, expect, test } from '@jest/globals';
import { readStatementFile } from '../../../src/reconciliation/files/read.ts';

const read = (text: string, account: string | null = null) =>
  readStatementFile(Buffer.from(text), { format: null, account, booked: {} });

const OURS = `svc_${'0'.repeat(26)}_wth`;
const iso = ({ lines, closing }: ReturnType<typeof read>) => ({
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
    expect(iso(read(CSV))).toEqual({
      lines: [
        'credit s1 100000 2026-11-22T08:00:00.000Z',
        `sent ${OURS} 5000 2026-11-22T10:00:00.000Z`,
        'charge 2026-11-22/c1/50/1 50 2026-11-22T11:00:00.000Z',
      ],
      closing: '-94950 2026-11-22T23:00:00.000Z',
    });
    expect(iso(read('\uFEFFkind,reference,amount,at\r\n'))).toEqual({ lines: [], closing: null });
  });

  test.each([
    ['another header', CSV.replace('amount', 'value'), 'line 1, column 3: the header must be kind,reference,amount,at'],
    ['an unknown kind', CSV.replace('charge', 'fee'), 'line 5, column 1: kind must be one of credit, recalled, sent,'],
    [
      'naira instead of kobo',
      CSV.replace('5000,', '50.00,'),
      'line 3, column 3: amount must be a whole number of kobo',
    ],
    ['a negative amount', CSV.replace(',50,', ',-50,'), 'line 5, column 3: amount must not be negative'],
    [
      'a day that does not exist',
      CSV.replace('2026-11-22T11:00:00Z', '2026-02-30T11:00:00Z'),
      'line 5, column 4: at must be a time in ISO 8601',
    ],
    ['a missing field', CSV.replace(',50,', ','), 'line 5, column 4: Invalid Record Length'],
    ['a quote that is not closed', CSV.replace('"\n', '\n').replace(`${OURS}"`, OURS), 'line '],
    [
      'two balances',
      `${CSV}closing_balance,,1,2026-11-23T00:00:00Z\n`,
      'line 7, column 1: there is a second closing_balance',
    ],
  ])('with %s is refused with its place', (_, text, problem) => {
    expect(() => read(text)).toThrow(problem);
  });
});

describe('the words of a bank that a deployment has accounts for', () => {
  const booked = {
    vat: 'receivable:vat',
    stamp_duty: 'liability:stamp_duty',
    grant: 'income:grants',
    chg: 'expense:chg',
  };
  const withAccounts = (text: string) => readStatementFile(Buffer.from(text), { format: null, account: null, booked });
  const shown = (text: string) =>
    withAccounts(text).lines.map(({ kind, account, amount }) => [kind, account ?? 'expense:rail', amount].join(' '));

  test('are charges to these accounts, in CSV by their kind and elsewhere by their code, one line each', () => {
    const at = '2026-11-22T11:00:00Z';
    const rows = ['charge,c1,50', 'vat,c1,50', 'vat,c1,50', 'stamp_duty,,5000', 'grant,g1,7'].map(
      (row) => `${row},${at}`,
    );
    const csv = ['kind,reference,amount,at', ...rows].join('\n');
    expect(shown(csv)).toEqual([
      'charge expense:rail 50',
      'charge receivable:vat 50',
      'charge receivable:vat 50',
      'charge liability:stamp_duty 5000',
      'charge_returned income:grants 7',
    ]);
    expect(new Set(withAccounts(csv).lines.map(({ reference }) => reference)).size).toBe(5);
    const mt940 = [
      ':20:1',
      ':25:1',
      ':60F:C261122NGN0,',
      ':61:261122D0,50NCHGc1',
      ':61:261122D7,NVATc2',
      ':61:261122C1,NVATc3',
      ':62F:D261122NGN6,50',
    ].join('\n');
    expect(shown(mt940)).toEqual([
      'charge expense:chg 50',
      'charge receivable:vat 700',
      'charge_returned receivable:vat 100',
    ]);
  });

  test('others are refused with their row, and with where to add them', () => {
    const csv = 'kind,reference,amount,at\nvat,v1,1,2026-11-22T09:00:00Z\nlevy,l1,1,2026-11-22T09:00:00Z';
    expect(() => withAccounts(csv)).toThrow(
      /^line 3, column 1: kind must be one of .*vat, stamp_duty.*STATEMENT_LINE_ACCOUNTS/,
    );
    expect(() => read(csv)).toThrow('line 2, column 1: kind must be one of');
  });

  test('a line has the same reference with an account and without, so that it is booked once', () => {
    const mt940 = ':20:1\n:60F:C261121NGN0,\n:61:261122D7,NVATc2\n:62F:D261122NGN7,';
    const [line] = withAccounts(mt940).lines;
    expect([line?.account, line?.reference]).toEqual(['receivable:vat', read(mt940).lines[0]?.reference]);
  });

  test('a debit by a code of the bank is one of them, unless it has a reference of ours', () => {
    const debit = (more: string) =>
      `<Document><BkToCstmrStmt><Stmt><Ntry><Amt Ccy="NGN">50</Amt><CdtDbtInd>DBIT</CdtDbtInd><BookgDt><Dt>2026-11-22</Dt></BookgDt><BkTxCd><Prtry><Cd>STAMP_DUTY</Cd></Prtry></BkTxCd>${more}</Ntry></Stmt></BkToCstmrStmt></Document>`;
    expect(shown(debit('<AcctSvcrRef>x1</AcctSvcrRef>'))).toEqual(['charge liability:stamp_duty 5000']);
    const ours = debit(`<NtryDtls><TxDtls><Refs><EndToEndId>${OURS}</EndToEndId></Refs></TxDtls></NtryDtls>`);
    expect(withAccounts(ours).lines.map(({ kind, account }) => [kind, account])).toEqual([['sent', undefined]]);
  });

  test('a credit and a transfer are never one of them', () => {
    const kinds = readStatementFile(Buffer.from(CSV), {
      format: null,
      account: null,
      booked: { credit: 'income:x', sent: 'expense:x' },
    });
    expect(kinds.lines.map(({ kind, account }) => [kind, account])).toEqual([
      ['credit', undefined],
      ['sent', undefined],
      ['charge', undefined],
    ]);
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
    expect(iso(read(XML))).toEqual({
      lines: [
        'credit s1 100000 2026-11-22T08:00:00.000Z',
        `sent ${OURS} 5000 ${day}`,
        `returned ${OURS} 5000 ${day}`,
        `charge 2026-11-22/c1/29/1 29 ${day}`,
        `interest 2026-11-22/i1/250/1 250 ${day}`,
        `settlement 2026-11-22/p1/70000/1 70000 ${day}`,
        `sent x1 700 ${day}`,
        `credit b1 100 ${day}`,
        `credit b2 200 ${day}`,
      ],
      closing: '-94950 2026-11-22T23:00:00.000Z',
    });
  });

  test.each([
    ['an element that is not closed', XML.replace('</Stmt>', ''), 'line 18, column '],
    ['another message', '<Document><Other/></Document>', 'line 1, column '],
    ['a notice', '<Document><BkToCstmrDbtCdtNtfctn/></Document>', 'it is a camt.054'],
    ['another currency', XML.replace('"NGN">0.29', '"USD">0.29'), 'line 11, column 10: Amt: must be in NGN'],
    ['three decimals', XML.replace('0.29', '0.295'), 'line 11, column 10: Amt: must be an amount in whole kobo'],
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
    expect(() => read(text)).toThrow(problem);
  });
});

/** What of one entry is read. */
const linesOf = (text: string): string[] => iso(read(text)).lines.map((line) => line.replace(/ \S+$/, ''));
const withEntry = (content: string): string =>
  `<Document><BkToCstmrStmt><Stmt><Ntry>${content}</Ntry></Stmt></BkToCstmrStmt></Document>`;
const ngn = (text: string): string => `<Amt Ccy="NGN">${text}</Amt>`;
const charge = (text: string): string => `<Chrgs><Rcrd>${ngn(text)}</Rcrd></Chrgs>`;

describe('an entry of camt.053', () => {
  test.each<[string, string, string[]]>([
    ['with five decimals', `${amt('1000.00000', 'CRDT')}${DAY}${refs('TxId', 's1')}`, ['credit s1 100000']],
    ['with leading zeros', `${amt('000000000000149.87', 'CRDT')}${DAY}${refs('TxId', 's1')}`, ['credit s1 14987']],
    ['of nothing', `${amt('0.00', 'DBIT')}${DAY}${refs('TxId', 's1')}`, []],
    [
      'that takes a credit back',
      `${amt('5', 'DBIT')}<RvslInd>true</RvslInd>${DAY}${refs('TxId', 's1')}`,
      ['recalled s1 500'],
    ],
    [
      'that takes a transfer back',
      `${amt('5', 'CRDT')}<RvslInd>1</RvslInd>${DAY}${refs('TxId', 's1')}`,
      ['returned s1 500'],
    ],
    [
      'that gives a charge back',
      `${amt('5', 'CRDT')}${DAY}<AcctSvcrRef>c</AcctSvcrRef>${code('CHRG')}`,
      ['other_in c 500'],
    ],
    [
      'with a code of the bank for a charge',
      `${amt('5', 'DBIT')}${DAY}<BkTxCd><Prtry><Cd>CHG</Cd></Prtry></BkTxCd>`,
      ['charge 2026-11-22/NONREF/500/1 500'],
    ],
    [
      'without a booking date',
      `${amt('5', 'CRDT')}<ValDt><Dt>2026-11-22</Dt></ValDt>${refs('TxId', 's')}`,
      ['credit s 500'],
    ],
    ['with empty details', `${amt('5', 'CRDT')}${DAY}<AcctSvcrRef>a</AcctSvcrRef><NtryDtls/>`, ['credit a 500']],
    [
      'whose part goes the other way',
      `${amt('5', 'CRDT')}${DAY}<NtryDtls><TxDtls>${ngn('7')}<CdtDbtInd>CRDT</CdtDbtInd><Refs><TxId>a</TxId></Refs></TxDtls><TxDtls>${ngn('2')}<CdtDbtInd>DBIT</CdtDbtInd><Refs><TxId>b</TxId></Refs></TxDtls></NtryDtls>`,
      ['credit a 700', 'sent b 200'],
    ],
    [
      'with a charge inside',
      `${amt('1526', 'DBIT')}${DAY}<NtryDtls><TxDtls>${ngn('1526')}<AmtDtls><TxAmt>${ngn('1500')}</TxAmt></AmtDtls><Refs><EndToEndId>${OURS}</EndToEndId></Refs>${charge('26')}</TxDtls></NtryDtls>`,
      [`sent ${OURS} 150000`, `charge sent:${OURS} 2600`],
    ],
    [
      'with a charge given back',
      `${amt('1526', 'CRDT')}${DAY}<NtryDtls><TxDtls><AmtDtls><TxAmt>${ngn('1500')}</TxAmt></AmtDtls><Refs><TxId>s1</TxId></Refs><Chrgs><Rcrd>${ngn('26')}<CdtDbtInd>CRDT</CdtDbtInd></Rcrd></Chrgs></TxDtls></NtryDtls>`,
      ['credit s1 150000', 'charge_returned credit:s1 2600'],
    ],
    [
      'of nothing with a charge',
      `${amt('26', 'DBIT')}${DAY}<NtryDtls><TxDtls>${ngn('26')}<AmtDtls><TxAmt>${ngn('0')}</TxAmt></AmtDtls><Refs><EndToEndId>${OURS}</EndToEndId></Refs>${charge('26')}</TxDtls></NtryDtls>`,
      [`charge sent:${OURS} 2600`],
    ],
    [
      'with our reference in its text',
      `${amt('5', 'DBIT')}${DAY}<NtryDtls><TxDtls><Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs><RmtInf><Ustrd>NIP/${OURS}/ADA</Ustrd></RmtInf></TxDtls></NtryDtls>`,
      [`sent ${OURS} 500`],
    ],
  ])('%s', (_, content, lines) => {
    expect(linesOf(withEntry(content))).toEqual(lines);
  });

  test.each([
    ['a time without a zone, which is one in Lagos', '<DtTm>2026-11-25T00:30:00</DtTm>', '2026-11-24T23:30:00.000Z'],
    ['a date with a zone', '<Dt>2026-11-25+01:00</Dt>', '2026-11-24T23:00:00.000Z'],
  ])('with %s', (_, text, at) => {
    const [line] = read(withEntry(`${amt('5', 'CRDT')}<BookgDt>${text}</BookgDt>${refs('TxId', 's1')}`)).lines;
    expect(line?.at.toISOString()).toBe(at);
  });

  test.each(['5', '01/02/2026', '2026-02-30', '2026-02-30T10:00:00'])('of %s is refused', (time) => {
    const dated = withEntry(`${amt('5', 'CRDT')}<BookgDt><DtTm>${time}</DtTm></BookgDt>${refs('TxId', 's1')}`);
    expect(() => read(dated)).toThrow('the booking date is not valid');
  });
});

describe('several statements in one file', () => {
  const acct = (id: string): string => `<Acct><Id><Othr><Id>${id}</Id></Othr></Id></Acct>`;
  const stmt = (id: string, sum: string, part = ''): string =>
    `<Stmt>${acct(id)}<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry>${part}</Tp>${ngn(sum)}<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-22</Dt></Dt></Bal></Stmt>`;
  const file = (...statements: string[]): string =>
    `<Document><BkToCstmrStmt>${statements.join('')}</BkToCstmrStmt></Document>`;

  test('are of the account that is named', () => {
    const text = file(stmt('111', '1'), stmt('222', '2'));
    expect(() => read(text)).toThrow('it has statements of these accounts: 111, 222. Choose one with --account');
    expect(() => read(text, '333')).toThrow('accounts: 111, 222');
    expect(read(text, '222').closing?.balance).toBe(200);
  });

  test('of one account are one, with the booked balance, not that of a part of the day', () => {
    const part = '<SubTp><Cd>INTM</Cd></SubTp>';
    const text = file(stmt('111', '1'), stmt('111', '3'));
    expect(read(text).closing?.balance).toBe(300);
    const balances = stmt('111', '1', part).replace('</Stmt>', '') + stmt('111', '2').replace(/^<Stmt>.*?<\/Acct>/, '');
    expect(read(file(balances)).closing?.balance).toBe(200);
  });
});

const MT940 = `{1:F01BANKNGLAXXXX0000000000}{2:O9401200261122BANKNGLAXXXX00000000002611221200N}{4:
:20:STMT1
:25:BANKNGLA/0123456789
:28C:1/1
:60F:C261121NGN1000,
:61:2611221122CN1000,NTRFNONREF//S1
:86:NIP FROM ADA
OBI
:61:261122D50,00NTRFPAYMENT
:86:NIP/${OURS.slice(0, 20)}
${OURS.slice(20)}/ADA
:61:261122RC5,5NTRFNONREF//S0
:61:261122RD50,NTRFNONREF
:86:${OURS}
:61:261122D0,29NCHGSMS-ALERT
:61:261122D0,29NCHGSMS-ALERT
:61:2612310102C1,NINTNONREF
:61:261122EC9,NTRFNONREF
:62F:D261122NGN949,5
:86:MORE ABOUT THE STATEMENT
-}`;

describe('MT940', () => {
  const day = '2026-11-21T23:00:00.000Z';
  const expected = {
    lines: [
      `credit S1 100000 ${day}`,
      `sent ${OURS} 5000 ${day}`,
      `recalled S0 550 ${day}`,
      `returned ${OURS} 5000 ${day}`,
      `charge 2026-11-22/SMS-ALERT/29/1 29 ${day}`,
      `charge 2026-11-22/SMS-ALERT/29/2 29 ${day}`,
      'interest 2027-01-02/NONREF/100/1 100 2027-01-01T23:00:00.000Z',
    ],
    closing: '-94950 2026-11-22T23:00:00.000Z',
  };

  test.each<[string, (text: string) => string]>([
    ['as it is', (text) => text],
    ['with CR', (text) => text.replaceAll('\n', '\r')],
    ['with CR and LF', (text) => text.replaceAll('\n', '\r\n')],
    ['with - at its end', (text) => text.replace('-}', '-\n')],
    ['with } at its end', (text) => text.replace('-}', '}')],
    ['with its last block behind its end', (text) => text.replace('-}', '-}{5:{CHK:0123456789AB}}')],
    ['without blocks', (text) => text.replace(/^.*\n/, '').replace('-}', '')],
  ])('%s is read', (_, change) => {
    expect(iso(read(change(MT940)))).toEqual(expected);
  });

  test('begins after the day of its opening balance, which is the closing balance of the statement before', () => {
    expect(read(MT940).from).toEqual(new Date(day));
  });

  test.each([
    ['another message', MT940.replace('O940', 'O942'), 'it is an MT942'],
    ['another currency', MT940.replace('C261121NGN', 'C261121USD'), 'line 5, column 1: :60F: must be in NGN'],
    ['a day that does not exist', MT940.replace(':61:261122D50', ':61:260230D50'), 'line 9, column 1: :61: has a date'],
    ['an entry without an amount', MT940.replace('D50,00NTRF', 'DNTRF'), 'line 9, column 1: :61: must be an entry'],
    ['no balance', MT940.replace('949,5', ''), 'line 19, column 1: :62F: must be a balance'],
  ])('with %s is refused with its place', (_, text, problem) => {
    expect(() => read(text)).toThrow(problem);
  });
});

describe('the text of a file', () => {
  test.each<[string, Buffer]>([
    ['UTF-16', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(MT940, 'utf16le')])],
    ['Latin-1', Buffer.from(MT940.replace('OBI', 'OB\u00cd'), 'latin1')],
  ])('in %s', (_, bytes) => {
    expect(readStatementFile(bytes, { format: null, account: null, booked: {} }).lines).toHaveLength(7);
  });

  test('names its encoding in XML', () => {
    const text = withEntry(`${amt('5', 'CRDT')}${DAY}${refs('TxId', 'S\u00cd')}`);
    const bytes = Buffer.from(`<?xml version="1.0" encoding="ISO-8859-1"?>${text}`, 'latin1');
    const [line] = readStatementFile(bytes, { format: null, account: null, booked: {} }).lines;
    expect(line?.reference).toBe('S\u00cd');
  });
});
