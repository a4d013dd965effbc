// The payment pages that are open in browsers, of one process. Each has a connection for Server-Sent Events; one
// statement a second looks for changes of all their payments, so a page costs neither a query nor a timer.
import type { ServerResponse } from 'node:http';
import type { Uuid } from '../../ids.ts';
import type { SeenPayment } from '../../resources/payments/queries.ts';
import { checkoutPagesOpen } from '../../telemetry/metrics.ts';
import type { PaymentOfPage } from './token.ts';

export interface OpenPagesOptions {
  /** The current versions of the payments that are newer than those seen. */
  readChanges: (seen: readonly SeenPayment[]) => Promise<{ paymentId: Uuid; version: number }[]>;
  pagesMax: number;
  onError: (error: unknown) => void;
  /** Default: a second. */
  lookEveryMs?: number;
  /** Default: 20 seconds. */
  quietMaxMs?: number;
}

/** How soon a page shows a change. */
const LOOK_EVERY_MS = 1_000;
/** Shorter than the idle timeout of common proxies (30 to 60 s), and of the networks of phones. */
const QUIET_MAX_MS = 20_000;
/** Tabs and devices of one payer. */
const PAGES_OF_A_PAYMENT_MAX = 10;
/** A reader that takes nothing is gone. The events of a page are some bytes each. */
const UNSENT_BYTES_MAX = 16_384;
/** A page that lost its connection comes back after this time, and up to as much again: not all in the same moment. */
const RETRY_MIN_MS = 1_000;

interface OpenPage {
  response: ServerResponse;
  version: number;
  writtenAt: number;
}

/** A payment with its open pages, and the oldest version that one of them shows. */
interface WatchedPayment extends SeenPayment {
  pages: Set<OpenPage>;
}

export class OpenPages {
  readonly #options: OpenPagesOptions;
  readonly #payments = new Map<Uuid, WatchedPayment>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;

  constructor(options: OpenPagesOptions) {
    this.#options = options;
  }

  /** Whether the process takes no more pages. */
  get isFull(): boolean {
    return this.#isClosing || this.#count >= this.#options.pagesMax;
  }

  /** Whether another page of this payment may be opened now. */
  hasRoom(paymentId: Uuid): boolean {
    return (this.#payments.get(paymentId)?.pages.size ?? 0) < PAGES_OF_A_PAYMENT_MAX;
  }

  /**
   * Sends events on a response whose head is written, until its reader or `close` ends it: `change`, with the new
   * version, when the payment gets a version newer than the one that the page shows.
   */
  add(response: ServerResponse, { book, paymentId }: PaymentOfPage, version: number): void {
    const page: OpenPage = { response, version, writtenAt: performance.now() };
    const watched = this.#payments.get(paymentId) ?? { book, paymentId, version, pages: new Set() };
    watched.pages.add(page);
    watched.version = Math.min(watched.version, version);
    this.#payments.set(paymentId, watched);
    this.#count += 1;
    checkoutPagesOpen.set(this.#count);
    response.once('close', () => this.#remove(watched, page));
    response.write(`retry: ${Math.round(RETRY_MIN_MS * (1 + Math.random()))}\n\n`);
    this.#lookLater();
  }

  /** Ends all pages, which connect to another process, and opens no more. */
  close(): void {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    for (const { pages } of this.#payments.values()) {
      for (const { response } of pages) response.end();
    }
  }

  #remove(watched: WatchedPayment, page: OpenPage): void {
    watched.pages.delete(page);
    if (watched.pages.size === 0) this.#payments.delete(watched.paymentId);
    this.#count -= 1;
    checkoutPagesOpen.set(this.#count);
  }

  #lookLater(): void {
    if (this.#timer !== undefined || this.#isClosing) return;
    this.#timer = setTimeout(() => void this.#look(), this.#options.lookEveryMs ?? LOOK_EVERY_MS);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    try {
      const changes = await this.#options.readChanges([...this.#payments.values()]);
      for (const { paymentId, version } of changes) this.#notify(paymentId, version);
    } catch (error) {
      this.#options.onError(error);
    }
    this.#keepOpen();
    this.#timer = undefined;
    if (this.#count > 0) this.#lookLater();
  }

  #notify(paymentId: Uuid, version: number): void {
    const watched = this.#payments.get(paymentId);
    if (watched === undefined) return;
    watched.version = version;
    for (const page of watched.pages) {
      if (page.version >= version) continue;
      page.version = version;
      this.#write(page, `id: ${version}\nevent: change\ndata: ${version}\n\n`);
    }
  }

  /** A comment on each connection that was quiet for long, so that no proxy closes it as idle. */
  #keepOpen(): void {
    const now = performance.now();
    const quietMaxMs = this.#options.quietMaxMs ?? QUIET_MAX_MS;
    for (const { pages } of this.#payments.values()) {
      for (const page of pages) if (now - page.writtenAt >= quietMaxMs) this.#write(page, ':\n\n');
    }
  }

  #write(page: OpenPage, text: string): void {
    page.writtenAt = performance.now();
    if (page.response.writableLength > UNSENT_BYTES_MAX) page.response.destroy();
    else page.response.write(text);
  }
}
