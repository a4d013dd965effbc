// `listen`: prints each event of the sandbox as it happens, and sends it to the developer's own server, signed on this
// machine (docs/decisions/0026-developer-command-line.md). It reads GET /events, so it needs neither an endpoint nor an
// address that the service reaches.
import type { Command } from 'commander';
import { type Event, pagesOf } from '../../../typescript/src/index.ts';
import { reasonOf } from '../../../typescript/src/reason.ts';
import { addCommand, eventTypesOf, sinceOf, targetOf } from '../command.ts';
import { eventText } from '../eventText.ts';
import { advance, follow, readLatest, START } from '../follow.ts';
import { forwardEvent, forwardedText } from '../forward.ts';
import { paint } from '../output.ts';
import { openSession, type Session, type SessionOptions } from '../session.ts';
import { listenSecret } from '../settings.ts';

interface ListenOptions extends SessionOptions {
  forwardTo?: string;
  events?: ReadonlySet<string>;
  since?: Date;
  printSecret?: true;
}

const PAGE_SIZE = 100;

export function addListenCommand(program: Command, signal: AbortSignal): void {
  addCommand(
    program,
    'listen',
    'print events as they happen, and forward them to your own server as signed webhooks',
    'listen --forward-to localhost:3000/hooks --events "payment.*,withdrawal.failed"',
  )
    .option('--forward-to <address>', 'where to send each event: 3000/hooks, localhost:3000/hooks or a URL', targetOf)
    .option('--events <types>', 'only these types, separated by commas; payment.* is all of payments', eventTypesOf)
    .option('--since <time>', 'begin with the events since then: 10m, 2h, or a time in ISO 8601', sinceOf)
    .option('--print-secret', 'print the signing secret of this machine, and end')
    .action(async (options: ListenOptions) => {
      if (options.printSecret) {
        const secret = listenSecret(process.env);
        if (options.json) process.stdout.write(`${JSON.stringify({ secret })}\n`);
        else process.stdout.write(`${secret}\n`);
        return;
      }
      await listen(await openSession(options, signal), options);
    });
}

async function listen(session: Session, { forwardTo, events, since }: ListenOptions): Promise<void> {
  const { client, url, output, signal } = session;
  const read = (createdAtFrom: string | undefined): AsyncIterable<Event> =>
    pagesOf((cursor) => {
      const query = cursor === undefined ? { limit: PAGE_SIZE, ...(createdAtFrom && { createdAtFrom }) } : { cursor };
      return client.GET('/events', { params: { query } });
    });
  const secret = forwardTo === undefined ? null : listenSecret(process.env);
  // What has happened by now is seen, unless it was asked for.
  const earlier = since === undefined ? await readLatest(read(undefined), placeOf, () => true, 0) : [];
  const { position } = advance(START, earlier, placeOf);

  output.progress(`Listening to ${url}${since === undefined ? '' : ` since ${since.toISOString()}`}. Ctrl-C ends it.`);
  if (secret !== null) {
    output.progress(`Forwarding to ${forwardTo}, signed with the secret of this machine:`);
    process.stderr.write(`  ${paint('bold', secret, process.stderr)}\n`);
  }
  let last: Event | undefined;
  const following = follow({
    read: (from) => read(from ?? since?.toISOString()),
    placeOf,
    position,
    signal,
    onOutage: (fault) => output.warning(`The API does not respond (${reasonOf(fault)}). Trying again until it does.`),
    onRecovery: () => output.progress('The API responds again.'),
  });
  for await (const event of following) {
    last = event;
    if (events?.has(event.type) === false) continue;
    if (forwardTo === undefined || secret === null) {
      output.result({ event, forwarded: null }, eventText(event));
      continue;
    }
    const forwarded = await forwardEvent(forwardTo, secret, event, signal);
    if (signal.aborted && forwarded.status === null) break;
    output.result({ event, forwarded }, `${eventText(event)} ${forwardedText(forwarded)}`);
  }
  if (last !== undefined) output.progress(`Ended. To go on from here: --since ${last.createdAt}`);
}

const placeOf = ({ id, createdAt }: Event) => ({ id, createdAt });
