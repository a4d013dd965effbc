// Two versions of the worker side by side on the real server: which flow goes to which, and that a flow which the old one
// began is finished by the new one, so that the old workers can be stopped at once.
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode } from '@temporalio/worker';
import { type RunningWorker, startWorker } from '../../src/worker/worker.ts';
import { type PaymentResource, startTestFlows, type TestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const NEXT = fileURLToPath(new URL('nextVersion.ts', import.meta.url));

/** Building the next version's workflows, and the server's own workflows that change a version, beside other tests. */
const LIMIT_MS = 120_000;

let flows: TestFlows;
let next: RunningWorker;

beforeAll(async () => {
  flows = await startTestFlows({ settings: { WORKER_BUILD_ID: '1.0' } });
}, LIMIT_MS);

afterAll(async () => {
  await next?.stop();
  await flows.close();
});

/** What `temporal worker deployment set-current-version` asks for; refused until the version's workers poll every queue. */
async function makeCurrent(buildId: string): Promise<void> {
  const { namespace, taskQueue: deploymentName } = flows.services.config.temporal;
  const { workflowService } = flows.temporal.connection;
  await waitFor(`version ${buildId} to be current`, async () => {
    await workflowService.setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId }).catch(() => null);
    const { workerDeploymentInfo } = await workflowService
      .describeWorkerDeployment({ namespace, deploymentName })
      .catch(() => ({ workerDeploymentInfo: null }));
    return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId === buildId;
  });
}

/** The versions that a flow's tasks were done by, in turn, and whether it went the new way. */
async function wayOf(workflowId: string): Promise<{ versions: string[]; patched: boolean }> {
  const history: History | null = await flows.temporal.workflow
    .getHandle(workflowId)
    .fetchHistory()
    .catch(() => null); // not started yet
  const events = history?.events ?? [];
  const versions = events.flatMap((event) => {
    const { deploymentVersion } = event.workflowTaskCompletedEventAttributes ?? {};
    return deploymentVersion?.buildId ? [deploymentVersion.buildId] : [];
  });
  const turns = versions.filter((version, position) => version !== versions[position - 1]);
  return { versions: turns, patched: events.some((event) => event.markerRecordedEventAttributes != null) };
}

const untilTaken = (payment: PaymentResource) =>
  waitFor('a version to take the payment', async () => (await wayOf(payment.id)).versions.length > 0);

async function settle(payment: PaymentResource): Promise<void> {
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  await flows.temporal.workflow.getHandle(payment.id).result();
}

test(
  'new flows go to the current version, and those under way move to it',
  async () => {
    const wallet = await flows.createWallet();
    await makeCurrent('1.0');
    const begunBefore = await flows.createPayment(wallet, 200_000);
    await untilTaken(begunBefore);

    // The next version's workers ask for work, and get none yet.
    const { config } = flows.services;
    const nextConfig = { ...config, temporal: { ...config.temporal, buildId: '2.0' } };
    next = await startWorker(
      { ...flows.services, config: nextConfig },
      await bundleWorkflowCode({ workflowsPath: NEXT }),
    );
    const begunBeside = await flows.createPayment(wallet, 200_000);
    await untilTaken(begunBeside);
    expect(await wayOf(begunBeside.id)).toEqual({ versions: ['1.0'], patched: false });

    await makeCurrent('2.0');
    const begunAfter = await flows.createPayment(wallet, 200_000);
    await untilTaken(begunAfter);

    await flows.stopWorker(); // the old version is gone
    for (const payment of [begunBefore, begunBeside, begunAfter]) await settle(payment);
    expect(await wayOf(begunBefore.id)).toEqual({ versions: ['1.0', '2.0'], patched: false });
    expect(await wayOf(begunBeside.id)).toEqual({ versions: ['1.0', '2.0'], patched: false });
    expect(await wayOf(begunAfter.id)).toEqual({ versions: ['2.0'], patched: true });
  },
  LIMIT_MS,
);
