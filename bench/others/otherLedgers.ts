// Other ledgers that somebody has running, for the same load: named by their URLs, they get accounts of ours and the same
// hot transfers over HTTP, one request a transfer, each answered when it is posted. One that cannot take part, or whose
// money is not right afterwards, has a line that says so instead of figures.
import { pickAmount } from '../book.ts';
import type { Load } from '../load.ts';
import { openBlnk } from './blnk.ts';
import { type Call, callAt } from './call.ts';
import { openFormance } from './formance.ts';
import { type Account, findWrongMoney, type OtherBook } from './otherBook.ts';

export interface OtherLedger {
  name: string;
  url: string;
  /** Makes the request of the next transfer. */
  request: Load['request'];
  judge: NonNullable<Load['judge']>;
  /** Throws when the ledger does not hold the money it was given, or did not move what it said it moved. */
  proveMoney: () => Promise<void>;
}

/**
 * The ledgers that the environment names (`FORMANCE_URL`; `BLNK_URL`, `BLNK_KEY`), with their accounts made and funded.
 * `absent` takes a line for each that is named and cannot take part.
 */
export async function openOtherLedgers(
  environment: NodeJS.ProcessEnv,
  absent: (line: string) => void,
): Promise<OtherLedger[]> {
  const { FORMANCE_URL, BLNK_URL, BLNK_KEY } = environment;
  const opened: OtherLedger[] = [];
  const join = async (name: string, url: string | undefined, open: (call: Call) => Promise<OtherBook>) => {
    if (!url) return;
    try {
      opened.push(otherLedger(name, url, await open(callAt(url))));
    } catch (error) {
      absent(`${name} did not take part: ${(error as Error).message}`);
    }
  };
  await join('Formance', FORMANCE_URL, openFormance);
  await join('Blnk', BLNK_URL, (call) => openBlnk(call, BLNK_KEY));
  return opened;
}

function otherLedger(name: string, url: string, book: OtherBook): OtherLedger {
  let asked = 0;
  let posted = 0;
  return {
    name,
    url,
    request: () => {
      const other = book.wallets[Math.floor(Math.random() * book.wallets.length)] as Account;
      const amount = pickAmount();
      asked += amount;
      return Math.random() < 0.5 ? book.transfer(book.hot, other, amount) : book.transfer(other, book.hot, amount);
    },
    judge: (status, body) => {
      const verdict = book.judge(status, body);
      if ('refused' in verdict) return verdict.refused;
      posted += verdict.posted;
      return undefined;
    },
    proveMoney: async () => {
      const finding = findWrongMoney(await book.read(), { asked, posted });
      if (finding !== undefined) throw new Error(finding);
    },
  };
}
