// Generated lists of both providers: every row that can be read is read, whatever the others are; every other one is
// set aside with its text; nothing throws but for a page that is no page; and a list that does not end is given up.
// GENERATED_SEED repeats a run: a failure prints its seed and the list.
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FAKE_CREDENTIALS as MONNIFY } from '../../dev/monnify/fakeCredentials.ts';
import { FAKE_CREDENTIALS as NOMBA } from '../../dev/nomba/fakeCredentials.ts';
import { RailUnavailableError } from '../../src/rail/errors.ts';
import { createMonnifyRail } from '../../src/rail/monnify/rail.ts';
import { createNombaRail } from '../../src/rail/nomba/rail.ts';
import { creditsOf, statementOf } from '../../src/rail/pages.ts';
import type { BankRail } from '../../src/rail/port.ts';
import type { ClosableRail } from '../../src/rail/provider.ts';
import { type AnsweringServer, named, startAnsweringServer } from './documented.ts';
import { type GeneratedRow, type ListOfKinds, MISSING, pagesOf, wronglyRead } from './generatedRows.ts';
import { LOGINS, BANKS as MONNIFY_BANKS } from './monnify/documentedCalls.ts';
import { BANKS as NOMBA_BANKS, TOKENS } from './nomba/documented.ts';

const RUNS = 150;
const SEED = Number(process.env.GENERATED_SEED ?? Date.now() % 2 ** 31);
const ORGANISATION = '0197f0c0-0000-7000-8000-000000000001';
const NOW = new Date('2026-11-22T15:00:00Z');
const REQUEST = {
  organisationId: ORGANISATION,
  from: new Date('2026-11-22T00:00:00Z'),
  to: new Date('2026-11-23T00:00:00Z'),
};
const TIME = '2026-11-22T14:17:13.634Z';
const LIMIT_MS = 60_000;

const answer = (value: unknown, status = 200) => ({ status, text: JSON.stringify(value) });

type WholeStatement = Awaited<ReturnType<typeof statementOf>>;

async function readAll(rail: BankRail): Promise<WholeStatement & { sessions: Set<string> }> {
  const statement = await statementOf(rail, REQUEST);
  const sessions = new Set<string>();
  for await (const credits of creditsOf(rail, REQUEST)) for (const { sessionId } of credits) sessions.add(sessionId);
  return { ...statement, sessions };
}

/** The credits that are on the statement, and not in the list of credits. */
const lostCredits = ({ lines, sessions }: { lines: WholeStatement['lines']; sessions: Set<string> }): string[] =>
  lines
    .filter(({ kind, reference }) => kind === 'credit' && !sessions.has(reference))
    .map(({ reference }) => reference);

/** The seed is printed with a failure. */
const check = (property: fc.IAsyncProperty<[unknown]>): Promise<void> =>
  fc.assert(property, { numRuns: RUNS, seed: SEED });

let server: AnsweringServer;

beforeAll(async () => {
  server = await startAnsweringServer();
});

afterAll(async () => {
  expect(server.strange).toEqual([]);
  await server.close();
});

describe('nomba', () => {
  const PAGE = 'POST /v1/transactions/accounts';
  const nombaRow = (type: string, entryType: string, status: string) => (id: string, amount: string) => ({
    id,
    status,
    amount,
    fixedCharge: '5.00685',
    source: 'api',
    type,
    entryType,
    timeCreated: TIME,
    paymentVendorReference: `session-${id}`,
    recipientAccountNumber: '0123456789',
    gatewayMessage: 'SUCCESS',
    senderName: 'CHIDI EZE',
    accountNumber: '0065432190',
    bankCode: '090645',
  });
  const rules = { needed: ['amount'], always: ['id', 'status', 'timeCreated'], words: ['type', 'entryType'] };
  const LIST: ListOfKinds = {
    idField: 'id',
    kinds: {
      credit: { rowOf: nombaRow('vact_transfer', 'CREDIT', 'SUCCESS'), kinds: ['credit'], ...rules },
      recalled: { rowOf: nombaRow('vact_transfer', 'CREDIT', 'REFUND'), kinds: ['credit', 'recalled'], ...rules },
      coming: { rowOf: nombaRow('vact_transfer', 'CREDIT', 'PENDING_PAYMENT'), kinds: [], ...rules },
      left: { rowOf: nombaRow('vact_transfer', 'DEBIT', 'SUCCESS'), kinds: ['other_out'], ...rules },
      sent: { rowOf: nombaRow('transfer', 'DEBIT', 'SUCCESS'), kinds: ['sent'], ...rules },
      returned: { rowOf: nombaRow('transfer', 'DEBIT', 'REFUND'), kinds: ['sent', 'returned'], ...rules },
      sending: { rowOf: nombaRow('transfer', 'DEBIT', 'NEW'), kinds: [], ...rules },
      between: { rowOf: nombaRow('p2p', 'CREDIT', 'SUCCESS'), kinds: ['other_in'], ...rules },
    },
  };
  let rail: ClosableRail;

  beforeAll(() => {
    rail = createNombaRail({ ...NOMBA, baseUrl: server.baseUrl }, () => NOW);
  });

  afterAll(() => rail.close());

  /** The list has these pages. `end`: what stands in place of the cursor on the last one. */
  function list(pages: readonly unknown[][], end: unknown): void {
    server.answers = {
      'POST /v1/auth/token/issue': named(TOKENS, 'a token'),
      'GET /v1/transfers/banks': named(NOMBA_BANKS, 'two banks'),
      [PAGE]: (url) => {
        const index = Number(url.searchParams.get('cursor') ?? 0);
        const cursor = index + 1 < pages.length ? String(index + 1) : end;
        return answer({
          code: '00',
          description: 'Success',
          data: { results: pages[index], ...(cursor === MISSING ? {} : { cursor }) },
        });
      },
    };
  }

  test(
    'every row of a generated list is read, or set aside with its text',
    async () => {
      const given = fc.record({ list: pagesOf(LIST), end: fc.constantFrom('', null, MISSING) });
      await check(
        fc.asyncProperty(given, async ({ list: { rows, pages }, end }) => {
          list(pages, end);
          const read = await readAll(rail);
          const withSession = (one: GeneratedRow) => JSON.stringify(one.row).includes(`session-${one.id}`);
          const lost = rows.filter((one) => one.fate === 'lines' && one.kinds[0] === 'credit' && withSession(one));
          expect(wronglyRead(rows, read)).toEqual([]);
          expect(lost.filter(({ id }) => !read.sessions.has(`session-${id}`))).toEqual([]);
        }),
      );
    },
    LIMIT_MS,
  );

  test.each([[[]], [null], [{}], [{ results: null }], [{ results: {} }], [{ results: [], cursor: {} }], ['']])(
    'a page that is %j is no empty page: the list is asked for again',
    async (data) => {
      list([], '');
      server.answers[PAGE] = () => answer({ code: '00', description: 'Success', data });
      await expect(readAll(rail)).rejects.toThrow(RailUnavailableError);
    },
  );

  test(
    'a list whose cursors lead back is given up after each page was read once',
    async () => {
      const given = fc.record({ list: pagesOf(LIST), back: fc.nat() });
      await check(
        fc.asyncProperty(given, async ({ list: { pages }, back }) => {
          let requests = 0;
          // The first page has no cursor of its own, so it may be read twice.
          list(pages, '');
          server.answers[PAGE] = (url) => {
            requests += 1;
            const index = Number(url.searchParams.get('cursor') ?? 0);
            const cursor = String(index + 1 < pages.length ? index + 1 : back % pages.length);
            return answer({ code: '00', description: 'Success', data: { results: pages[index], cursor } });
          };
          await expect(statementOf(rail, REQUEST)).rejects.toThrow(RailUnavailableError);
          expect(requests).toBeLessThanOrEqual(pages.length + 1);
        }),
      );
    },
    LIMIT_MS,
  );
});

describe('monnify', () => {
  const SEARCH = 'GET /api/v1/transactions/search';
  const WALLET = 'GET /api/v1/disbursements/wallet/*/statement';
  const TRANSACTION = 'GET /api/v2/transactions/*';
  const SUMMARY = 'GET /api/v2/disbursements/single/summary';
  const NOTHING = { requestSuccessful: false, responseCode: '99', responseMessage: 'Transaction does not exist' };
  const ok = (responseBody: unknown) => ({
    requestSuccessful: true,
    responseMessage: 'success',
    responseCode: '0',
    responseBody,
  });

  const collection = (paymentStatus: string, paymentMethod: string) => (id: string, amount: string) => ({
    customerDTO: { email: 'ada@example.com', name: 'Ada Obi' },
    transactionReference: id,
    paymentStatus,
    paymentMethod,
    createdOn: TIME,
    completedOn: TIME,
    amount,
    amountPaid: amount,
    fee: '0.00',
    currencyCode: 'NGN',
  });
  // What the row lacks is looked up, so only its name and its status must be readable; its currency may be missing.
  const rules = {
    needed: [],
    always: ['transactionReference', 'paymentStatus'],
    words: ['currencyCode', 'paymentMethod'],
  };
  const COLLECTIONS: ListOfKinds = {
    idField: 'transactionReference',
    kinds: {
      paid: { rowOf: collection('PAID', 'ACCOUNT_TRANSFER'), kinds: ['credit'], ...rules },
      more: { rowOf: collection('OVERPAID', 'ACCOUNT_TRANSFER'), kinds: ['credit'], ...rules },
      recalled: { rowOf: collection('REVERSED', 'ACCOUNT_TRANSFER'), kinds: ['credit', 'recalled'], ...rules },
      pending: { rowOf: collection('PENDING', 'ACCOUNT_TRANSFER'), kinds: [], ...rules },
      expired: { rowOf: collection('EXPIRED', 'ACCOUNT_TRANSFER'), kinds: [], ...rules },
    },
  };
  const walletRow = (transactionType: string, status: string, narration: string) => (id: string, amount: string) => ({
    walletTransactionReference: id,
    monnifyTransactionReference: id,
    availableBalanceBefore: '50000.00',
    amount,
    transactionDate: TIME,
    transactionType,
    message: null,
    narration: narration.replace('ID', id),
    status,
  });
  const walletRules = {
    needed: [],
    always: ['walletTransactionReference', 'amount', 'transactionDate', 'transactionType', 'status'],
    words: ['narration'],
  };
  const TRANSFER = 'MFDS876/#/ref-ID/#/Rent/#/GTBank/#/0123456789';
  const ENTRIES: ListOfKinds = {
    idField: 'walletTransactionReference',
    kinds: {
      sent: { rowOf: walletRow('DEBIT', 'COMPLETED', TRANSFER), kinds: ['sent'], ...walletRules },
      returned: { rowOf: walletRow('CREDIT', 'SUCCESS', TRANSFER), kinds: ['returned'], ...walletRules },
      settled: { rowOf: walletRow('CREDIT', 'COMPLETED', 'Settlement'), kinds: ['settlement'], ...walletRules },
      funded: { rowOf: walletRow('CREDIT', 'COMPLETED', 'MFY-WT/#/VA'), kinds: ['funding'], ...walletRules },
      sending: { rowOf: walletRow('DEBIT', 'PENDING', TRANSFER), kinds: [], ...walletRules },
    },
  };
  let rail: ClosableRail;

  beforeAll(() => {
    rail = createMonnifyRail({ ...MONNIFY, baseUrl: server.baseUrl }, () => NOW);
  });

  afterAll(() => rail.close());

  /** A list page by page, in the shape of one of its documents. `end`: what its last page says of being that. */
  const paged = (pages: readonly unknown[][], isBare: boolean, end: unknown, name: 'page' | 'pageNo') => (url: URL) => {
    const index = Number(url.searchParams.get(name));
    const last = index + 1 < pages.length ? false : end;
    const page = { content: pages[index] ?? [], number: index, ...(last === MISSING ? {} : { last }) };
    return answer(isBare ? page : ok(page));
  };

  interface Lists {
    collections: { rows: GeneratedRow[]; pages: unknown[][] };
    entries: { rows: GeneratedRow[]; pages: unknown[][] };
    isBare: boolean;
    end: unknown;
    /** What is looked up has this instead of a field. */
    odd: { field: number; value: unknown } | null;
  }
  const shape = {
    collections: pagesOf(COLLECTIONS),
    entries: pagesOf(ENTRIES),
    isBare: fc.boolean(),
    end: fc.constantFrom(true, null, MISSING, 'true', {}),
  };

  function listAll({ collections, entries, isBare, end, odd }: Lists): void {
    const looked = (body: Record<string, unknown>): unknown => {
      const names = Object.keys(body);
      const field = odd === null ? undefined : names[odd.field % names.length];
      if (field === undefined) return ok(body);
      const { [field]: _, ...rest } = body;
      return ok(odd?.value === MISSING ? rest : { ...rest, [field]: odd?.value });
    };
    const nairaOf = (rows: readonly GeneratedRow[], id: string): string | null => {
      const found = rows.find((one) => one.id === id);
      return found === undefined
        ? null
        : `${Math.floor(found.amount / 100)}.${String(found.amount % 100).padStart(2, '0')}`;
    };
    server.answers = {
      'POST /api/v1/auth/login': named(LOGINS, 'a token'),
      'GET /api/v1/banks': named(MONNIFY_BANKS, 'three banks'),
      [SEARCH]: paged(collections.pages, isBare, end, 'page'),
      [WALLET]: paged(entries.pages, isBare, end, 'pageNo'),
      [TRANSACTION]: ({ pathname }) => {
        const transactionReference = decodeURIComponent(pathname.split('/').at(-1) ?? '');
        const amountPaid = nairaOf(collections.rows, transactionReference);
        if (amountPaid === null) return answer(NOTHING, 404);
        const row = collections.rows.find(({ id }) => id === transactionReference);
        const paymentStatus = row?.kinds.length === 2 ? 'REVERSED' : 'PAID';
        const [currency, settlementAmount] = ['NGN', amountPaid];
        const product = { type: 'INVOICE', reference: 'svc_01kb0000000000000000000001_pay' };
        return answer(
          looked({
            transactionReference,
            amountPaid,
            settlementAmount,
            paidOn: TIME,
            paymentStatus,
            currency,
            product,
          }),
        );
      },
      [SUMMARY]: ({ searchParams }) => {
        const reference = searchParams.get('reference') ?? '';
        const amount = nairaOf(entries.rows, reference.replace('ref-', ''));
        if (amount === null) return answer(NOTHING, 404);
        return answer(
          looked({ reference, amount, fee: '0.00', status: 'SUCCESS', destinationAccountNumber: '0123456789' }),
        );
      },
    };
  }

  /** A page of rows without names that were all on the page before: nothing tells it from a list that goes round. */
  const repeatsAPage = ({ pages }: Lists['collections']): boolean =>
    pages.some((page, at) => page.length > 0 && page.every((row) => isOn(pages[at - 1] ?? [], row)));
  const isOn = (page: readonly unknown[], row: unknown): boolean => page.some((other) => isDeepStrictEqual(other, row));

  /** Each list is of another world, so nothing may be remembered of the one before. */
  async function readAnew(lists: Lists) {
    listAll(lists);
    const anew = createMonnifyRail({ ...MONNIFY, baseUrl: server.baseUrl }, () => NOW);
    try {
      return await readAll(anew);
    } finally {
      await anew.close();
    }
  }

  test(
    'every row of both generated lists is read, or set aside with its text',
    async () => {
      await check(
        fc.asyncProperty(fc.record(shape), async (lists) => {
          fc.pre(!repeatsAPage(lists.collections) && !repeatsAPage(lists.entries));
          const read = await readAnew({ ...lists, odd: null });
          expect([...wronglyRead(lists.collections.rows, read), ...wronglyRead(lists.entries.rows, read)]).toEqual([]);
          expect(lostCredits(read)).toEqual([]);
        }),
      );
    },
    LIMIT_MS,
  );

  test(
    'what is looked up of a row and cannot be read sets that row aside, and no other',
    async () => {
      const odd = fc.record({ field: fc.nat(), value: fc.constantFrom(MISSING, null, {}, '2,500.00', 'OTHER') });
      await check(
        fc.asyncProperty(fc.record({ ...shape, odd }), async (lists) => {
          fc.pre(!repeatsAPage(lists.collections) && !repeatsAPage(lists.entries));
          const read = await readAnew(lists);
          const relaxed = ({ rows }: Lists['collections']) =>
            rows.map((one) => (one.fate === 'lines' ? { ...one, fate: 'either' as const } : one));
          const rows = [...relaxed(lists.collections), ...relaxed(lists.entries)];
          expect(wronglyRead(rows, read)).toEqual([]);
        }),
      );
    },
    LIMIT_MS,
  );

  test.each([[[]], [null], ['a text'], [{}], [{ content: null }], [{ content: {} }]])(
    'a page that is %j is no empty page: the list is asked for again',
    async (body) => {
      for (const page of [body, ok(body)]) {
        listAll({
          collections: { rows: [], pages: [] },
          entries: { rows: [], pages: [] },
          isBare: true,
          end: true,
          odd: null,
        });
        server.answers[SEARCH] = answer(page);
        await expect(readAll(rail)).rejects.toThrow(RailUnavailableError);
      }
    },
  );

  test('a list that repeats a page is given up, also where its pages are not full', async () => {
    const rows = ['one', 'two'].map((id) => collection('PAID', 'ACCOUNT_TRANSFER')(id, '10.00'));
    let requests = 0;
    listAll({
      collections: { rows: [], pages: [] },
      entries: { rows: [], pages: [] },
      isBare: true,
      end: true,
      odd: null,
    });
    server.answers[SEARCH] = () => {
      requests += 1;
      return answer({ content: rows, last: false });
    };
    await expect(readAll(rail)).rejects.toThrow(RailUnavailableError);
    expect(requests).toBe(2);
  });
});
