// The maintenance flows, each started by its Schedule: one or two activities over all books. None needs a compensation:
// a run repeats or continues what an earlier one left.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import { LONG } from '../options.ts';
import type {
  CreditsPolled,
  FailingFlowsResult,
  MaintenanceActivities,
  Period,
  RetentionResult,
  SealingResult,
  SweepResult,
  VerificationResult,
} from './messages.ts';

const { scanForFailingFlows, closeAccountingDays, deleteExpiredRows, pollCredits } =
  proxyActivities<MaintenanceActivities>(LONG);
const { restartMissingFlows } = proxyActivities<MaintenanceActivities>({ ...LONG, heartbeatTimeout: '30 seconds' });
const { sealLedger } = proxyActivities<MaintenanceActivities>({ ...LONG, heartbeatTimeout: '2 minutes' });
const { verifyLedger } = proxyActivities<MaintenanceActivities>({
  ...LONG,
  startToCloseTimeout: '12 hours',
  heartbeatTimeout: '2 minutes',
});

/** Every half minute: restarts the flows of accepted resources that have none, and ends the cases of repaid debts. */
export async function sweep(): Promise<SweepResult> {
  const result = await restartMissingFlows();
  const flows = result.restarted.map((id) => `\n- \`${id}\``).join('');
  setCurrentDetails(`Restarted ${result.restartedCount} flows of ${result.scanned} open resources.${flows}`);
  return result;
}

/** Every minute: lists the open flows with a task that fails again and again. */
export async function failingFlows(): Promise<FailingFlowsResult> {
  const result = await scanForFailingFlows();
  setCurrentDetails(
    `**${result.failing} failing flows** among ${result.described} described. List them with \`npm run cli -- attention list\`.`,
  );
  return result;
}

/** Hourly: deletes rows that are older than they are kept, and closes the accounting days that have ended. */
export async function retention(): Promise<RetentionResult> {
  const deleted = await deleteExpiredRows();
  const closedDays = await closeAccountingDays();
  setCurrentDetails(
    `Deleted ${deleted.idempotencyKeys} idempotency keys, ${deleted.events} events, ${deleted.webhookAttempts} webhook ` +
      `attempts, ${deleted.requestLogs} request logs, the sends of ${deleted.transferSends} transfers and ` +
      `${deleted.sandboxBank} rows of the sandbox bank. ` +
      `Closed ${closedDays} accounting days.`,
  );
  return { ...deleted, closedDays };
}

/** Every few minutes: seals the new postings of every book, and publishes the seals. */
export async function ledgerSealing(): Promise<SealingResult> {
  const sealed = await sealLedger();
  setCurrentDetails(`Made ${sealed.seals} seals and published ${sealed.published}.`);
  return sealed;
}

/** Daily. Findings fail this flow with LEDGER_INTEGRITY_VIOLATION, for the Temporal UI; an outage does not. */
export async function ledgerVerification(): Promise<VerificationResult> {
  setCurrentDetails('Verifying the ledger. The pending activity shows the progress.');
  const verified = await verifyLedger();
  setCurrentDetails(`**No findings** in ${verified.books} books with ${verified.postings} postings.`);
  return verified;
}

/** Every minute: imports credits whose callback was lost, once by session id. With a period on request. */
export async function creditPolling(period?: Period | null): Promise<CreditsPolled> {
  const result = await pollCredits(period ?? null);
  const { books, failed, recovered } = result;
  setCurrentDetails(`Imported **${recovered} credits** that no callback reported. ${failed} of ${books} banks failed.`);
  return result;
}
