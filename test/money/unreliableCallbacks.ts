// Carries the sandbox bank's callbacks to the API as badly as networks do: some twice, some late and so out of order, some
// lost until the bank repeats them, some with their answer lost. Keeps them all, to carry them again.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SIGNATURE_HEADER } from '../../src/rail/sandbox/callbacks.ts';
import { waitFor } from '../support/waitFor.ts';

interface Callback {
  body: string;
  signature: string;
}

/** What is on its way to one organisation. */
interface Round {
  random: () => number;
  underway: number;
}

export interface UnreliableCallbacks {
  /** Where the bank sends its callbacks. */
  url: string;
  /** From now on it delivers to this address. */
  serve: (to: string) => void;
  /** From now on its moods about the callbacks of this organisation come from this seed. */
  setFaultSeed: (organisationId: string, seed: number) => void;
  /** Carries one of this organisation's callbacks again, by its number; nothing when there are none. */
  repeat: (organisationId: string, number: number) => Promise<void>;
  /** Carries a callback of the caller's own. */
  carry: (callback: Callback) => Promise<void>;
  /** Callbacks of this organisation that it took and has not delivered yet. */
  underway: (organisationId: string) => number;
  /** Answers of the API that were not 200. */
  refused: string[];
  close: () => Promise<void>;
}

/** How each callback is carried, with the share of each mood in a hundred. */
const FAULT_MIX = { straight: 40, twice: 20, late: 20, lost: 10, answerLost: 10 } as const;
const LATE_MAX_MS = 300;

export async function startUnreliableCallbacks(): Promise<UnreliableCallbacks> {
  let address = '';
  const rounds = new Map<string, Round>();
  const taken: Callback[] = [];
  const refused: string[] = [];

  function roundOf({ body }: Callback): Round {
    const { contract } = JSON.parse(body) as { contract: string };
    const round = rounds.get(contract);
    if (round === undefined) throw new Error(`a callback about somebody unknown: ${contract}`);
    return round;
  }

  async function carry(callback: Callback): Promise<void> {
    const { body, signature } = callback;
    const round = roundOf(callback);
    round.underway += 1;
    try {
      const headers = { 'content-type': 'application/json', [SIGNATURE_HEADER]: signature };
      const { status, answer } = await waitFor('the callback to be answered', async () => {
        const response = await fetch(address, { method: 'POST', headers, body });
        const told = { status: response.status, answer: await response.text() };
        return told.status === 503 ? null : told; // past its deadline, on a busy machine: a bank sends it again
      });
      if (status !== 200) refused.push(answer);
    } finally {
      round.underway -= 1;
    }
  }

  /** Delivers in the mood of the moment; answers the status that the bank gets. */
  async function deliver(callback: Callback): Promise<number> {
    const round = roundOf(callback);
    switch (faultOf(round.random())) {
      case 'straight':
        await carry(callback);
        return 200;
      case 'twice':
        await Promise.all([carry(callback), carry(callback)]);
        return 200;
      case 'late':
        round.underway += 1;
        setTimeout(() => {
          round.underway -= 1;
          void carry(callback);
        }, round.random() * LATE_MAX_MS);
        return 200;
      case 'lost':
        return 503;
      case 'answerLost':
        await carry(callback);
        return 503;
    }
  }

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const callback = { body: Buffer.concat(chunks).toString(), signature: signatureOf(request.headers) };
    taken.push(callback);
    response.writeHead(await deliver(callback)).end();
  };
  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    serve: (to) => {
      address = to;
    },
    setFaultSeed: (organisationId, seed) => {
      rounds.set(organisationId, { random: createRandom(seed), underway: 0 });
    },
    repeat: async (organisationId, number) => {
      const theirs = taken.filter(({ body }) => body.includes(organisationId));
      const callback = theirs[number % theirs.length];
      if (callback !== undefined) await carry(callback);
    },
    carry,
    underway: (organisationId) => rounds.get(organisationId)?.underway ?? 0,
    refused,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const signatureOf = (headers: IncomingHttpHeaders): string => String(headers[SIGNATURE_HEADER]);

function faultOf(luck: number): keyof typeof FAULT_MIX {
  let left = luck * 100;
  for (const [mood, share] of Object.entries(FAULT_MIX)) {
    left -= share;
    if (left < 0) return mood as keyof typeof FAULT_MIX;
  }
  return 'straight';
}

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
