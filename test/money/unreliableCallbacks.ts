// A proxy for a bank's callbacks that simulates an unreliable network: it duplicates some, delays some and so reorders
// them, drops some until the bank retries, and loses the response of some. Keeps all callbacks, to send them again.
import { randomOf } from '../../dev/random.ts';
import { readResponse } from '../support/api.ts';
import type { SignedCallback } from '../support/scenarioBank.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Received, startReceiver } from '../webhooks/receiver.ts';

/** A callback to the address of a contract. */
interface Callback extends SignedCallback {
  contract: string;
}

/** The state of one contract. */
interface ContractState {
  random: () => number;
  inFlight: number;
}

export interface UnreliableCallbacks {
  /** The callback URL for the bank, before the id of the contract. */
  url: string;
  /** Sets the address to which callbacks are forwarded, before the id of the contract. */
  serve: (to: string) => void;
  /** Sets the random seed of the faults of this contract's callbacks. */
  setFaultSeed: (contract: string, seed: number) => void;
  /** Sends a previous callback of this contract again, by its number; does nothing when there is none. */
  repeat: (contract: string, number: number) => Promise<void>;
  /** Sends a callback of the caller. */
  carry: (contract: string, callback: SignedCallback) => Promise<void>;
  /** The number of callbacks of this contract that are not delivered yet. */
  underway: (contract: string) => number;
  /** Responses of the API other than 200, or not as documented. */
  refused: string[];
  close: () => Promise<void>;
}

/** The probability of each fault, in percent. */
const FAULT_MIX = { none: 40, duplicate: 20, delay: 20, drop: 10, loseResponse: 10 } as const;
const DELAY_MAX_MS = 300;

export async function startUnreliableCallbacks(): Promise<UnreliableCallbacks> {
  let address = '';
  const states = new Map<string, ContractState>();
  const refused: string[] = [];

  function stateOf({ contract }: Callback): ContractState {
    const state = states.get(contract);
    if (state === undefined) throw new Error(`a callback of an unknown contract: ${contract}`);
    return state;
  }

  async function carry(callback: Callback): Promise<void> {
    const { contract, headers, body } = callback;
    const path = new URL(address).pathname.replace(/^\/v1/, '');
    const request = { method: 'POST', path: `${path}/${contract}`, environment: 'test' } as const;
    const state = stateOf(callback);
    state.inFlight += 1;
    try {
      const { status, text } = await waitFor('the response to the callback', async () => {
        const response = await fetch(`${address}/${contract}`, { method: 'POST', headers, body });
        // Thrown when it is not as documented.
        const result = await readResponse(response, request);
        // 503: the request exceeded its deadline on a busy machine; a bank sends the callback again.
        return result.status === 503 ? null : result;
      });
      if (status !== 200) refused.push(text);
    } catch (error) {
      refused.push(String(error));
    } finally {
      state.inFlight -= 1;
    }
  }

  /** Delivers with a random fault; returns the response status for the bank. */
  async function deliver(callback: Callback): Promise<number> {
    const state = stateOf(callback);
    switch (faultOf(state.random())) {
      case 'none':
        await carry(callback);
        return 200;
      case 'duplicate':
        await Promise.all([carry(callback), carry(callback)]);
        return 200;
      case 'delay':
        state.inFlight += 1;
        setTimeout(() => {
          state.inFlight -= 1;
          void carry(callback);
        }, state.random() * DELAY_MAX_MS);
        return 200;
      case 'drop':
        return 503;
      case 'loseResponse':
        await carry(callback);
        return 503;
    }
  }

  const callbackOf = ({ path, headers, body }: Received): Callback => {
    const signed = Object.entries(headers).filter(([name]) => /^content-type$|-signature$/.test(name));
    return {
      contract: path.split('/').at(-1) ?? '',
      headers: Object.fromEntries(signed.map(([name, value]) => [name, String(value)])),
      body,
    };
  };
  const receiver = await startReceiver(
    async (response, received) => void response.writeHead(await deliver(callbackOf(received))).end(),
  );

  return {
    url: receiver.origin,
    serve: (to) => {
      address = to;
    },
    setFaultSeed: (contract, seed) => {
      states.set(contract, { random: randomOf(seed), inFlight: 0 });
    },
    repeat: async (contract, number) => {
      const candidates = receiver.received.map(callbackOf).filter((callback) => callback.contract === contract);
      const callback = candidates[number % candidates.length];
      if (callback !== undefined) await carry(callback);
    },
    carry: (contract, callback) => carry({ contract, ...callback }),
    underway: (contract) => states.get(contract)?.inFlight ?? 0,
    refused,
    close: receiver.close,
  };
}

function faultOf(random: number): keyof typeof FAULT_MIX {
  let remaining = random * 100;
  for (const [fault, share] of Object.entries(FAULT_MIX)) {
    remaining -= share;
    if (remaining < 0) return fault as keyof typeof FAULT_MIX;
  }
  return 'none';
}
