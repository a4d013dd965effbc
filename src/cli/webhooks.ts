// `webhooks …`: redeliver the events that an endpoint did not receive.
import { type Command, InvalidArgumentError } from 'commander';
import { parseId } from '../ids.ts';
import { findEndpoint, redeliverFailed } from '../webhooks/bulkRedelivery.ts';
import { addCommand, withDatabase } from './command.ts';
import { CommandError } from './failure.ts';
import { printJson, printLine } from './print.ts';
import { signIn } from './signIn.ts';
import { checkText } from './texts.ts';

const REASON_MAX = 500;

export function addWebhookCommands(program: Command): void {
  const group = program.command('webhooks').description('redeliver events to webhook endpoints');
  addCommand(
    group,
    'redeliver <endpoint>',
    'redeliver the events whose attempts at an endpoint are exhausted, each with the whole schedule of attempts',
    'webhooks redeliver svc_01k5…_whe --from 2026-11-20T00:00:00Z --reason "the endpoint is mended"',
  )
    .option('--from <time>', 'only deliveries created at this time or later, in ISO 8601', time)
    .option('--to <time>', 'only deliveries created before this time, in ISO 8601', time)
    .requiredOption('--reason <text>', 'the reason, recorded in the audit log')
    .action(async (endpoint: string, options: { from?: Date; to?: Date; reason: string; json?: true }) => {
      const reason = checkText('--reason', options.reason, REASON_MAX);
      const endpointId = parseId('webhookEndpoint', endpoint);
      const deliveries = await withDatabase('application', async (sql, settings) => {
        const operator = await signIn(sql, settings, 'webhooks redeliver');
        const found = endpointId === null ? null : await findEndpoint(sql, endpointId);
        if (endpointId === null || found === null) throw new CommandError(`There is no webhook endpoint ${endpoint}.`);
        if (found.status !== 'enabled') {
          throw new CommandError(`The webhook endpoint ${endpoint} is ${found.status}, so it receives nothing.`);
        }
        const range = { endpointId, from: options.from ?? null, to: options.to ?? null };
        return await redeliverFailed(sql, found, range, { operator, reason: reason });
      });
      if (options.json) return printJson({ endpointId: endpoint, deliveries });
      printLine(`Redelivering ${deliveries} ${deliveries === 1 ? 'event' : 'events'} to ${endpoint}.`);
    });
}

function time(value: string): Date {
  const parsed = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(value) ? new Date(value) : null;
  if (parsed === null || Number.isNaN(parsed.getTime())) {
    throw new InvalidArgumentError('It must be a time in ISO 8601 with a time zone, such as 2026-11-20T00:00:00Z.');
  }
  return parsed;
}
