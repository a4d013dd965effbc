// `webhooks …`: the endpoints that fail, and sending them again what they did not receive.
import { parseId, publicId } from '../ids.ts';
import { findEndpoint, listFailingEndpoints, redeliverFailed } from '../webhooks/bulkRedelivery.ts';
import { addCommand, type Command, withDatabase } from './command.ts';
import { CommandError } from './failure.ts';
import { type Period, reasonOption, time } from './options.ts';
import { printResult, printRows } from './print.ts';
import { signedIn } from './signIn.ts';

export function addWebhookCommands(program: Command): void {
  const group = program.command('webhooks').description('webhook endpoints that fail, and what they did not receive');
  addCommand(group, 'list', 'list the endpoints at which every attempt fails, and how many deliveries wait for each')
    .example('webhooks list')
    .action(async (options: { json?: true }) => {
      const endpoints = await withDatabase('application', listFailingEndpoints);
      printRows(
        options,
        endpoints.map(({ id, organisationId, ...rest }) => ({
          id: publicId('webhookEndpoint', id),
          organisation: publicId('organisation', organisationId),
          ...rest,
        })),
        ['id', 'organisation', 'environment', 'failingSince', 'waiting', 'nextAttemptAt'],
        'No endpoint fails.',
      );
    });
  addCommand(
    group,
    'redeliver <endpoint>',
    'attempt at once what an endpoint did not receive: what waits, and, with the whole schedule, what has failed',
  )
    .example('webhooks redeliver svc_01k5…_whe --from 2026-11-20T00:00:00Z --reason "the endpoint is fixed"')
    .option('--from <time>', 'only deliveries created at this time or later, in ISO 8601', time)
    .option('--to <time>', 'only deliveries created before this time, in ISO 8601', time)
    .addOption(reasonOption())
    .action(async (endpoint: string, options: Period & { reason: string; json?: true }) => {
      const endpointId = parseId('webhookEndpoint', endpoint);
      const deliveries = await signedIn('webhooks redeliver', async (sql, { proof }) => {
        const found = endpointId === null ? null : await findEndpoint(sql, endpointId);
        if (endpointId === null || found === null) throw new CommandError(`There is no webhook endpoint ${endpoint}.`);
        if (found.status !== 'enabled') {
          throw new CommandError(`The webhook endpoint ${endpoint} is ${found.status}, so it receives nothing.`);
        }
        const range = { endpointId, from: options.from ?? null, to: options.to ?? null };
        return await redeliverFailed(sql, found, range, { proof, reason: options.reason });
      });
      const line = `Redelivering ${deliveries} ${deliveries === 1 ? 'event' : 'events'} to ${endpoint}.`;
      printResult(options, { endpointId: endpoint, deliveries }, line);
    });
}
