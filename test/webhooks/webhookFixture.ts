// Fixture of the webhook tests: a database, endpoints that listen on loopback, and events as movements write them.
import { type Logger, pino } from 'pino';
import { type Config, readConfig } from '../../src/config.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid, type Uuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { createAttemptDelivery } from '../../src/webhooks/attempt.ts';
import { type Delivery, findDelivery, listDeliveries } from '../../src/webhooks/deliveries.ts';
import { createDispatcher } from '../../src/webhooks/dispatcher.ts';
import { insertWebhookEndpoint, type WebhookEndpoint } from '../../src/webhooks/endpoints.ts';
import { newWebhookSecret } from '../../src/webhooks/signature.ts';
import { createDatabase } from '../support/stack.ts';
import { type Answering, type Receiver, startReceiver } from './receiver.ts';

export interface TestEndpoint extends Receiver {
  id: Uuid;
  secret: string;
}

export interface Workbench {
  sql: Sql;
  config: Config;
  log: Logger;
  /** Every log line. */
  logged: string[];
  /** Creates a receiver and its endpoint, which is subscribed to all events unless stated otherwise. */
  endpoint: (book: Book, wanted?: Partial<WebhookEndpoint>, answering?: Answering) => Promise<TestEndpoint>;
  /** Creates an event; `data` is the JSON text of its payload. */
  event: (book: Book, data?: string, type?: string) => Promise<Uuid>;
  /** A dispatcher as in a new process, which knows of no failure before. */
  dispatcher: () => ReturnType<typeof createDispatcher>;
  /** Makes the first attempts for an event; those that are left as due to endpoints that fail, too. */
  send: (book: Book, eventId: Uuid) => Promise<void>;
  /** Lets an endpoint have failed for this long, an interval of Postgres. */
  failingFor: (endpoint: Pick<TestEndpoint, 'id'>, interval: string) => Promise<unknown>;
  /** The deliveries of an event by endpoint. */
  deliveries: (book: Book, eventId: Uuid) => Promise<Map<Uuid, Delivery>>;
  /** Ends what waits for an attempt, so that it is not attempted in the next test. */
  endDeliveries: () => Promise<void>;
  closeReceivers: () => Promise<void>;
  close: () => Promise<void>;
}

export async function startWorkbench(): Promise<Workbench> {
  const database = await createDatabase();
  const sql = connect(database.url, { connectionsMax: 4 });
  const config = readConfig({
    DATABASE_URL: database.url,
    MANILLA_KEYS: `test:${Buffer.alloc(32, 7).toString('base64url')}`,
    WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'sandbox',
    WEBHOOK_RETRY_GAPS_SECONDS: '5,300',
  });
  const logged: string[] = [];
  const receivers: Receiver[] = [];
  const closeReceivers = async (): Promise<void> => {
    await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
  };
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) });
  const dependencies = { sql, keyring: config.keyring, config, log };
  const dispatcher = () => createDispatcher(dependencies);
  return {
    sql,
    config,
    log,
    logged,
    dispatcher,
    send: async (book, eventId) => {
      await dispatcher().dispatchEvent({ book, eventId });
      const attemptDelivery = createAttemptDelivery(dependencies);
      const left = await sql<{ endpointId: Uuid }[]>`
        SELECT endpoint_id FROM webhook_deliveries
        WHERE event_id = ${eventId} AND status = 'pending' AND attempted_at IS NULL AND next_attempt_at <= now()`;
      for (const { endpointId } of left) {
        const delivery = await findDelivery(sql, book, eventId, endpointId);
        if (delivery !== null) await attemptDelivery(book, delivery);
      }
    },
    endpoint: async (book, options = {}, answering) => {
      const receiver = await startReceiver(answering);
      receivers.push(receiver);
      const id = newUuid();
      const secret = newWebhookSecret();
      const endpoint = {
        id,
        url: receiver.url,
        description: null,
        eventTypes: null,
        status: 'enabled' as const,
        // Before the events of every test.
        createdAt: new Date(Date.now() - 86_400_000),
        ...options,
      };
      await insertWebhookEndpoint(sql, book, endpoint, config.keyring.seal('webhook-secret', id, secret));
      return { ...receiver, id, secret };
    },
    event: async (book, data = '{"amount": 200000,  "id":"x"}', type = 'payment.settled') => {
      const id = newUuid();
      await sql`
        INSERT INTO events (organisation_id, environment, id, type, resource, sequence, data, created_at)
        VALUES (${book.organisationId}, ${book.environment}, ${id}, ${type}, ${id}, 1, ${data}::text::json, ${new Date()})`;
      return id;
    },
    failingFor: async ({ id }, interval) =>
      await sql`UPDATE webhook_endpoints SET failing_since = now() - ${interval}::interval WHERE id = ${id}`,
    deliveries: async (book, eventId) => {
      const rows = await listDeliveries(sql, book, { eventId }, {}, { limit: 100, after: null });
      return new Map(rows.map((row) => [row.endpointId, row]));
    },
    endDeliveries: async () => {
      await sql`
        UPDATE webhook_deliveries SET status = 'delivered', next_attempt_at = NULL, claimed_until = NULL
        WHERE status = 'pending'`;
    },
    closeReceivers,
    close: async () => {
      await closeReceivers();
      await sql.end();
      await database.drop();
    },
  };
}
