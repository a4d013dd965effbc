// What stands between a fake bank and the callback address of the service: it loses callbacks, delays and repeats
// them, and changes what their signature does not cover, or, where it covers everything, what it covers.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SentCallback {
  headers: Record<string, string>;
  body: Buffer;
}

export interface CallbackRelay {
  url: string;
  /** Sends a callback as it is. Whether it was accepted. */
  deliver: (callback: SentCallback) => Promise<boolean>;
  /** Whether callbacks pass as they are, as they do at first. */
  setCalm: (isCalm: boolean) => void;
  /** How many were lost, and how many were changed. */
  counts: { lost: number; changed: number };
  close: () => Promise<void>;
}

interface Options {
  /** The callback addresses of all APIs: those that can be cut, and directly. */
  addresses: readonly string[];
  direct: readonly string[];
  random: () => number;
  change: (callback: SentCallback) => SentCallback;
}

const DELAY_MAX_MS = 4_000;

export async function startCallbackRelay({ addresses, direct, random, change }: Options): Promise<CallbackRelay> {
  let isCalm = true;
  let next = 0;
  const timers = new Set<NodeJS.Timeout>();
  const counts = { lost: 0, changed: 0 };

  async function post(address: string, { headers, body }: SentCallback): Promise<number> {
    const init = { method: 'POST', headers, body: new Uint8Array(body), signal: AbortSignal.timeout(5_000) };
    const response = await fetch(address, init).catch(() => null);
    await response?.arrayBuffer().catch(() => {});
    return response?.status ?? 0;
  }

  const forward = async (callback: SentCallback): Promise<void> => {
    next += 1;
    await post(addresses[next % addresses.length] ?? '', callback);
  };

  async function pass(callback: SentCallback): Promise<void> {
    const chance = isCalm ? 1 : random();
    if (chance < 0.2) {
      counts.lost += 1;
      return;
    }
    if (chance < 0.5) {
      counts.changed += 1;
      await forward(change(callback));
      if (chance < 0.3) return; // the true one never comes
    }
    if (chance < 0.65) {
      const timer = setTimeout(() => {
        timers.delete(timer);
        void forward(callback);
      }, random() * DELAY_MAX_MS);
      timers.add(timer);
      return;
    }
    await forward(callback);
    if (chance < 0.75) await forward(callback);
  }

  const handle = async (request: IncomingMessage): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = Object.entries(request.headers).filter(([name]) => /^content-type$|^nomba-|-signature$/.test(name));
    const headers = Object.fromEntries(sent.map(([name, value]) => [name, String(value)]));
    await pass({ headers, body: Buffer.concat(chunks) });
  };
  const server = createServer((request, response) => {
    void handle(request).finally(() => response.writeHead(200).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    counts,
    deliver: async (callback) => {
      for (const address of direct) {
        const status = await post(address, callback);
        if (status >= 200 && status < 300) return true;
      }
      return false;
    },
    setCalm: (next) => {
      isCalm = next;
    },
    close: async () => {
      for (const timer of timers) clearTimeout(timer);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
