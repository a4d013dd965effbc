// The worker's connection to Temporal: waits at the start until the namespace can be used, and connects again when the
// credentials have been replaced.
import type { ConnectionLike } from '@temporalio/client';
import { NativeConnection, type Worker } from '@temporalio/worker';
import type { Log } from '../telemetry/log.ts';
import { connect } from '../temporal/connect.ts';
import { faultLog, faultOfConnection } from '../temporal/faults.ts';
import { requireFlowsCanStart, requireSearchAttributes } from '../temporal/namespace.ts';
import type { Credentials, TemporalTarget } from '../temporal/profile.ts';
import { followCredentials } from '../temporal/rotation.ts';
import { SEARCH_ATTRIBUTES } from '../workflows/searchAttributes.ts';

const RETRY_MS = 500;
const CALL_MS = 10_000;

/** For clients: always the current connection. Workers take `native`, and are given its successors. */
export class WorkerConnection implements ConnectionLike {
  native: NativeConnection;
  private credentials: Credentials;
  private rotation: { stop: () => Promise<void> } | null = null;

  constructor(native: NativeConnection, credentials: Credentials) {
    this.native = native;
    this.credentials = credentials;
  }

  get workflowService() {
    return this.native.workflowService;
  }
  get operatorService() {
    return this.native.operatorService;
  }
  get plugins() {
    return this.native.plugins;
  }
  ensureConnected = (): Promise<void> => this.native.ensureConnected();
  withDeadline: ConnectionLike['withDeadline'] = (deadline, work) => this.native.withDeadline(deadline, work);
  withMetadata: ConnectionLike['withMetadata'] = (metadata, work) => this.native.withMetadata(metadata, work);
  withAbortSignal: ConnectionLike['withAbortSignal'] = (signal, work) => this.native.withAbortSignal(signal, work);

  /** From now on, replaced credentials are taken into use, also by these workers. */
  follow(target: TemporalTarget, workers: Worker[], log: Log, everyMs?: number): void {
    const use = async (next: Credentials): Promise<void> => {
      const [old, successor] = [this.native, await connect(NativeConnection, { ...target, credentials: () => next })];
      this.native = successor;
      for (const worker of workers) worker.connection = successor;
      await old.close();
    };
    this.rotation = followCredentials({ target, current: this.credentials, use, log, everyMs });
  }

  /** Stops following the credentials; call it before the workers are stopped. */
  stopFollowing = async (): Promise<void> => await this.rotation?.stop();

  async close(): Promise<void> {
    await this.stopFollowing();
    await this.native.close();
  }
}

/** Connects, retrying until the namespace can be used. Logs once what is wrong and what to do about it. */
export async function openConnection(target: TemporalTarget, log: Log): Promise<WorkerConnection> {
  const report = faultLog(log);
  for (;;) {
    try {
      const credentials = target.credentials();
      const inUse = { ...target, credentials: () => credentials };
      const native = await usable(inUse);
      report(inUse);
      return new WorkerConnection(native, credentials);
    } catch (error) {
      report(faultOfConnection(error, target));
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

async function usable(target: TemporalTarget): Promise<NativeConnection> {
  const connection = await connect(NativeConnection, target);
  try {
    await requireFlowsCanStart(connection, target.namespace, CALL_MS);
    await requireSearchAttributes(connection, target, SEARCH_ATTRIBUTES, CALL_MS);
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}
