// The promises that a real provider can be tried with (`rail check`), in the order in which they are tried: what needs
// no money first, the limit of calls last, because it may use up the calls of the minute.
import { opens } from './accounts.ts';
import * as auth from './auth.ts';
import * as credits from './credits.ts';
import type { RailPromise } from './promise.ts';
import * as reading from './reading.ts';
import { statement } from './statement.ts';
import * as transfers from './transfers.ts';

export const CHECKS: readonly RailPromise[] = [
  { id: 'auth.login', needs: [], after: [], run: auth.login },
  { id: 'auth.wrong_secret', needs: ['contract'], after: ['auth.login'], run: auth.wrongSecret },
  { id: 'auth.refresh', needs: ['contract'], after: ['auth.login'], run: auth.refresh },
  { id: 'clock', needs: ['contract'], after: ['auth.login'], run: reading.clock },
  { id: 'banks', needs: [], after: ['auth.login'], run: reading.banks },
  { id: 'resolve.ok', needs: ['account'], after: ['auth.login'], run: reading.resolveOk },
  { id: 'resolve.unknown', needs: [], after: ['auth.login'], run: reading.resolveUnknown },
  { id: 'resolve.unknown_bank', needs: [], after: ['auth.login'], run: reading.resolveUnknownBank },
  { id: 'balance', needs: [], after: ['auth.login'], run: reading.balance },
  { id: 'account.one_off', needs: [], after: ['auth.login'], run: opens('one_off') },
  { id: 'account.permanent', needs: ['bvn'], after: ['auth.login'], run: opens('permanent') },
  { id: 'credit.simulated', needs: ['payer'], after: ['account.one_off'], run: credits.simulated },
  { id: 'credit.confirm', needs: ['payer'], after: ['credit.simulated'], run: credits.confirm },
  { id: 'transfer.ok', needs: ['account', 'money'], after: ['resolve.ok', 'balance'], run: transfers.ok },
  { id: 'transfer.otp', needs: ['account', 'money'], after: ['resolve.ok'], run: transfers.otp },
  { id: 'transfer.ip', needs: ['account', 'money'], after: ['resolve.ok'], run: transfers.ip },
  { id: 'transfer.repeat', needs: ['account', 'money'], after: ['transfer.ok'], run: transfers.repeat },
  { id: 'transfer.unknown', needs: [], after: ['auth.login'], run: transfers.unknown },
  { id: 'transfer.kobo', needs: ['account', 'money'], after: ['transfer.ok'], run: transfers.kobo },
  { id: 'transfer.narration', needs: ['account', 'money'], after: ['transfer.ok'], run: transfers.narration },
  { id: 'transfer.twin', needs: ['account', 'money'], after: ['transfer.ok'], run: transfers.twin },
  { id: 'statement', needs: ['trace'], after: ['auth.login'], run: statement },
  { id: 'limits', needs: ['account'], after: ['resolve.ok'], run: reading.limits },
];
