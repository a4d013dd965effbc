// What open payment pages cost an API process: hot transfers over HTTP with none, and with five thousand pages of as
// many payments connected for their events, in alternation. In each round one of the payments changes, under load.
import { connect, type Socket } from 'node:net';
import { freePort } from '../../dev/freePort.ts';
import { checkoutToken } from '../../src/api/checkout/token.ts';
import { parseKeyring } from '../../src/keyring.ts';
import { newPayment } from '../../src/resources/payments/movements.ts';
import type { Payment } from '../../src/resources/payments/queries.ts';
import { type BenchApi, KEYS, startBenchApi, startBenchTemporal } from '../api.ts';
import { type BenchBook, openBook } from '../book.ts';
import { runLoad } from '../load.ts';
import { measureInterleaved, ratio, type Sample } from '../measure.ts';
import { transferRequest } from '../requests.ts';
import type { Stage } from '../stage.ts';

const PAGES = 5_000;
const PAGES_QUICK = 500;
const CONNECTIONS = 64;
/** Pages that connect at the same time. */
const CONNECT_AT_ONCE = 100;
const COST_MAX = 0.1;
/** A change is noticed within a second, and shown at once. */
const SHOWN_WITHIN_MS = 3_000;

export const checkout: Stage = {
  name: 'checkout',
  title: `POST /wallets/:id/transfer, hot, ${CONNECTIONS} connections, on an API process with ${PAGES.toLocaleString('en')} open payment pages and with none.`,
  run: async (bench) => {
    const count = bench.quick ? PAGES_QUICK : PAGES;
    const rounds = bench.quick ? 1 : 5;
    const seconds = bench.quick ? 2 : 10;
    const temporal = await startBenchTemporal(bench.supervisor, bench.say);
    const book = await openBook(await bench.createDatabase('books'));
    try {
      const metricsPort = await freePort();
      const api = await startBenchApi(bench.supervisor, book, temporal, 'api', { METRICS_PORT: String(metricsPort) });
      const payments = await createPayments(book, count);
      const load = () =>
        runLoad({ url: api.url, connections: CONNECTIONS, seconds, request: () => transferRequest(api, book, 'hot') });
      const [without, with_] = ['0 open pages', `${count.toLocaleString('en')} open pages`] as const;
      const measured = await measureInterleaved(
        [
          { name: without, unit: 'requests/s', measure: load },
          {
            name: with_,
            unit: 'requests/s',
            measure: async () => {
              const pages = await OpenedPages.open(api, book, payments);
              try {
                await untilGauge(metricsPort, count);
                const [sample, shownAfterMs] = await Promise.all([load(), pages.change(book, payments)]);
                if (pages.isAnyLost()) throw new Error('a page lost its connection');
                return {
                  ...sample,
                  details: { ...sample.details, 'change to page ms': shownAfterMs },
                } satisfies Sample;
              } finally {
                pages.close();
                await untilGauge(metricsPort, 0);
              }
            },
          },
        ],
        rounds,
        bench.say,
      );
      const shown = measured.find(({ name }) => name === with_)?.details['change to page ms'] ?? Number.NaN;
      return {
        measured,
        goals: [
          { text: `${with_} ÷ ${without}`, atLeast: 1 - COST_MAX, got: ratio(measured, with_, without) },
          { text: 'change to page, ms', atMost: SHOWN_WITHIN_MS, got: shown },
        ],
        plots: [],
        notes: [],
      };
    } finally {
      await book.close();
    }
  },
};

/** Pending payments without flows: their pages are open, and nothing else happens to them. */
async function createPayments({ book, journal, hot }: BenchBook, count: number): Promise<Payment[]> {
  const createdAt = new Date();
  const request = {
    method: 'bank_transfer',
    baseAmount: 200_000,
    fee: 2_000,
    feeBearer: 'payer',
    targetWalletId: hot,
    splits: [],
    hold: null,
    description: null,
    onMismatch: 'hold',
    returnUrl: null,
    reference: null,
    metadata: null,
    expiresAt: new Date(createdAt.getTime() + 86_400_000),
    createdAt,
  } as const;
  const payments = Array.from({ length: count }, () => newPayment(request));
  await Promise.all(payments.map((payment) => post({ book, journal }, payment)));
  return payments;
}

async function post({ book, journal }: Pick<BenchBook, 'book' | 'journal'>, payment: Payment): Promise<void> {
  const { outcome } = await journal.post({ book, rows: { payments: [payment] } });
  if (outcome !== 'posted') throw new Error(`a payment was ${outcome}`);
}

/** The connections of open pages, one of each payment. */
class OpenedPages {
  readonly #sockets: Socket[];

  private constructor(sockets: Socket[]) {
    this.#sockets = sockets;
  }

  static async open({ url }: BenchApi, { book }: BenchBook, payments: readonly Payment[]): Promise<OpenedPages> {
    const keyring = parseKeyring(KEYS);
    const { hostname, port } = new URL(url);
    const sockets: Socket[] = [];
    for (let from = 0; from < payments.length; from += CONNECT_AT_ONCE) {
      const opened = payments.slice(from, from + CONNECT_AT_ONCE).map(({ id, version }) => {
        const token = checkoutToken(keyring, { book, paymentId: id });
        return openPage(hostname, Number(port), `/checkout/${token}/events?version=${version}`);
      });
      sockets.push(...(await Promise.all(opened)));
    }
    return new OpenedPages(sockets);
  }

  /** Changes the first payment. Resolves with the milliseconds until its page showed it. */
  async change(book: BenchBook, payments: Payment[]): Promise<number> {
    const [socket] = this.#sockets;
    const [payment] = payments;
    if (socket === undefined || payment === undefined) throw new Error('there is no page');
    const shown = new Promise<number>((resolve) => {
      socket.on('data', (chunk: Buffer) => {
        if (chunk.includes('event: change')) resolve(performance.now());
      });
    });
    const next: Payment = { ...payment, version: payment.version + 1 };
    payments[0] = next;
    await post(book, next);
    const changedAt = performance.now();
    return (await shown) - changedAt;
  }

  isAnyLost(): boolean {
    return this.#sockets.some(({ destroyed, readableEnded }) => destroyed || readableEnded);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Resolves when the server has accepted the connection for events. */
function openPage(host: string, port: number, path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
    socket.once('error', reject);
    socket.once('data', (chunk: Buffer) => {
      const [statusLine = ''] = chunk.toString('latin1').split('\r\n');
      if (statusLine.includes(' 200 ')) resolve(socket);
      else reject(new Error(`a page was refused: ${statusLine}`));
    });
  });
}

/** Waits until the process counts this many open pages. */
async function untilGauge(metricsPort: number, wanted: number): Promise<void> {
  const deadline = performance.now() + 30_000;
  let open = Number.NaN;
  while (performance.now() < deadline) {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    open = Number(/^manilla_checkout_pages_open (\S+)$/m.exec(text)?.[1]);
    if (open === wanted) return;
  }
  throw new Error(`the process counts ${open} open pages instead of ${wanted}`);
}
