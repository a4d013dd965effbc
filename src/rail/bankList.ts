// A provider's list of banks: read once a day, and used for longer while it cannot be read. It maps between the codes
// that the service uses, which are those of the Central Bank, and the codes of NIP, which providers use in credits.
import { shared } from '../concurrency/shared.ts';
import type { Bank } from './port.ts';

const FRESH_FOR_MS = 24 * 3_600_000;
/** After a failure the old list is used for this long before it is read again. */
const RETRY_AFTER_MS = 60_000;

export type BankList = ReturnType<typeof createBankList>;

export function createBankList(request: () => Promise<readonly Bank[]>, now: () => number = () => performance.now()) {
  let banks: readonly Bank[] | null = null;
  let byCode = new Map<string, string>();
  let readAgainAt = 0;

  const read = shared(async (): Promise<readonly Bank[]> => {
    try {
      const seen = new Map((await request()).map((bank) => [bank.code, bank]));
      banks = [...seen.values()];
      byCode = new Map([
        ...banks.flatMap(({ code, nipCode }): [string, string][] => (nipCode === null ? [] : [[nipCode, code]])),
        ...banks.map(({ code }): [string, string] => [code, code]),
      ]);
      readAgainAt = now() + FRESH_FOR_MS;
      return banks;
    } catch (error) {
      if (banks === null) throw error;
      readAgainAt = now() + RETRY_AFTER_MS;
      return banks;
    }
  });

  async function load(): Promise<readonly Bank[]> {
    return banks !== null && now() < readAgainAt ? banks : await read();
  }

  return {
    load,
    /** The code as in the list, of either code of a bank; null: unknown. Does not wait for the list. */
    codeOf(code: string | null): string | null {
      if (code === null) return null;
      // A callback is translated at once; the next one finds the list.
      if (banks === null) load().catch(() => {});
      // Codes of NIP have six digits.
      return byCode.get(code) ?? (banks === null && /^[0-9]{3}(?:[0-9]{2})?$/.test(code) ? code : null);
    },
  };
}
