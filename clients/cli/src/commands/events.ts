// `events resend`: sends an event again, by the service to webhook endpoints, or from this machine to an own server.
import type { Command } from 'commander';
import { dataOf } from '../../../typescript/src/index.ts';
import { addCommand, targetOf } from '../command.ts';
import { eventText } from '../eventText.ts';
import { CommandError, EXIT } from '../failure.ts';
import { forwardEvent, forwardedText } from '../forward.ts';
import { openSession, type SessionOptions } from '../session.ts';
import { listenSecret } from '../settings.ts';

interface ResendOptions extends SessionOptions {
  endpoint?: string;
  forwardTo?: string;
}

export function addEventCommands(program: Command, signal: AbortSignal): void {
  const group = program.command('events').description('events that have happened');
  addCommand(
    group,
    'resend <event>',
    'send an event again: to all endpoints that had it or subscribe to it now, to one, or to your own server',
    'events resend svc_01k5…_evt --forward-to localhost:3000/hooks',
  )
    .option('--endpoint <id>', 'only to this endpoint')
    .option('--forward-to <address>', 'from this machine to your own server, signed as `listen` does', targetOf)
    .action(async (id: string, options: ResendOptions) => {
      if (options.endpoint !== undefined && options.forwardTo !== undefined) {
        throw new CommandError('Give one of --endpoint and --forward-to.', EXIT.usage);
      }
      const { client, output } = await openSession(options, signal);
      const params = { path: { id } };
      if (options.forwardTo !== undefined) {
        const event = await dataOf(client.GET('/events/{id}', { params }));
        const forwarded = await forwardEvent(options.forwardTo, listenSecret(process.env), event, signal);
        output.result({ event, forwarded }, `${eventText(event)} ${forwardedText(forwarded)}`);
        if (forwarded.status === null || forwarded.status >= 300) process.exitCode = EXIT.failed;
        return;
      }
      const body = options.endpoint === undefined ? {} : { endpointId: options.endpoint };
      const resent = await dataOf(client.POST('/events/{id}/redeliver', { params, body }));
      const { endpointIds } = resent;
      if (endpointIds.length === 0) {
        throw new CommandError(
          `No enabled endpoint had ${id} or subscribes to its type. Register one, or send it to your own server: --forward-to.`,
        );
      }
      output.result(resent, `${id} is on its way to ${endpointIds.join(', ')}.`);
    });
}
