// Two worker versions side by side on a real server: how flows are routed, and that the new version finishes flows of
// the old one, so that the old workers can be stopped immediately.
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode } from '@temporalio/worker';
import { type RunningWorker, startWorker } from '../../src/worker/worker.ts';
import { type PaymentResource, startTestFlows, type TestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const NEXT = fileURLToPath(new URL('nextVersion.ts', import.meta.url));

/** Time to bundle the next version's workflows, and for the server's own version workflows, while other tests run. */
const LIMIT_MS = 400_000;

let flows: TestFlows;
let next: RunningWorker;

beforeAll(async () => {
  flows = await startTestFlows({ settings: { WORKER_BUILD_ID: '1.0' } });
}, LIMIT_MS);

afterAll(async () => {
  await next?.stop();
  await flows.close();
});

/**
 * The effect of `temporal worker deployment set-current-version`; refused until the version's workers poll every queue.
 */
async function makeCurrent(buildId: string): Promise<void> {
  const { namespace, taskQueue: deploymentName } = flows.dependencies.config.temporal;
  const { workflowService } = flows.temporal.connection;
  await waitFor(`version ${buildId} to be current`, async () => {
    await workflowService.setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId }).catch(() => null);
    const { workerDeploymentInfo } = await workflowService
      .describeWorkerDeployment({ namespace, deploymentName })
      .catch(() => ({ workerDeploymentInfo: null }));
    return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId === buildId;
  });
}

/** The sequence of versions that ran a flow's tasks, and whether it took the patched branch. */
async function versionsOf(workflowId: string): Promise<{ versions: string[]; patched: boolean }> {
  const history: History | null = await flows.temporal.workflow
    .getHandle(workflowId)
    .fetchHistory()
    .catch(() => null); // not started yet
  const events = history?.events ?? [];
  const versions = events.flatMap((event) => {
    const { deploymentVersion } = event.workflowTaskCompletedEventAttributes ?? {};
    return deploymentVersion?.buildId ? [deploymentVersion.buildId] : [];
  });
  const sequence = versions.filter((version, position) => version !== versions[position - 1]);
  return { versions: sequence, patched: events.some((event) => event.markerRecordedEventAttributes != null) };
}

const PART = 1_000;

/** A payment whose flow has begun, with a first credit. */
async function startPayment(wallet: string): Promise<PaymentResource> {
  const payment = await flows.createPayment(wallet, 200_000);
  await flows.credit(payment.virtualAccount.accountNumber, PART);
  await waitFor('a version to start the payment', async () => (await versionsOf(payment.id)).versions.length > 0);
  return payment;
}

async function settle(payment: PaymentResource): Promise<void> {
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount - PART);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  await flows.temporal.workflow.getHandle(payment.id).result();
}

test(
  'new flows run on the current version, and running flows move to it',
  async () => {
    const wallet = await flows.createWallet();
    await makeCurrent('1.0');
    const startedBefore = await startPayment(wallet);

    // The workers of the next version poll, and get no tasks yet.
    const { config } = flows.dependencies;
    const nextConfig = { ...config, temporal: { ...config.temporal, buildId: '2.0' } };
    next = await startWorker(
      { ...flows.dependencies, config: nextConfig },
      await bundleWorkflowCode({ workflowsPath: NEXT }),
    );
    const startedBeside = await startPayment(wallet);
    expect(await versionsOf(startedBeside.id)).toEqual({ versions: ['1.0'], patched: false });

    await makeCurrent('2.0');
    const startedAfter = await startPayment(wallet);

    await flows.stopWorker(); // no workers of the old version remain
    for (const payment of [startedBefore, startedBeside, startedAfter]) await settle(payment);
    expect(await versionsOf(startedBefore.id)).toEqual({ versions: ['1.0', '2.0'], patched: false });
    expect(await versionsOf(startedBeside.id)).toEqual({ versions: ['1.0', '2.0'], patched: false });
    expect(await versionsOf(startedAfter.id)).toEqual({ versions: ['2.0'], patched: true });
  },
  LIMIT_MS,
);
