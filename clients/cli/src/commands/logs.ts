// `logs tail`: the requests that the API answered, as they come, from GET /request-logs.
import { type Command, InvalidArgumentError } from 'commander';
import { pagesOf, type Schemas } from '../../../typescript/src/index.ts';
import { reasonOf } from '../../../typescript/src/reason.ts';
import { parseStatus } from '../arguments.ts';
import { addCommand } from '../command.ts';
import { advance, follow, readLatest, START } from '../follow.ts';
import { clockText, paint, statusText } from '../output.ts';
import { openSession, type Session, type SessionOptions } from '../session.ts';

type RequestLog = Schemas['RequestLog'];

interface TailOptions extends SessionOptions {
  status?: NonNullable<ReturnType<typeof parseStatus>>;
  method?: string;
  path?: string;
  lines: number;
  follow: boolean;
  all?: true;
}

const PAGE_SIZE = 100;
const LINES_DEFAULT = 10;

export function addLogCommands(program: Command, signal: AbortSignal): void {
  const group = program.command('logs').description('the requests that the API answered');
  addCommand(
    group,
    'tail',
    'print the latest requests, and those that come (needs a key with the scope keys)',
    'logs tail --status 4xx --method POST',
  )
    .option('--status <status>', 'only a class of statuses (2xx, 4xx, 5xx), or one status, such as 422', statusOf)
    .option('--method <method>', 'only this method', (text) => text.toUpperCase())
    .option('--path <text>', 'only paths that contain this, such as /payments')
    .option('--lines <count>', 'how many earlier requests to print', countOf, LINES_DEFAULT)
    .option('--no-follow', 'end after these')
    .option('--all', 'with the readings of events and of this log, such as those of `listen` and `logs tail`')
    .action(async (options: TailOptions) => tail(await openSession(options, signal), options));
}

function statusOf(text: string): TailOptions['status'] {
  const status = parseStatus(text);
  if (status === null) throw new InvalidArgumentError('Allowed: 2xx, 4xx, 5xx, or one status, such as 422.');
  return status;
}

function countOf(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('Allowed: 0 to 9999.');
  return Number(text);
}

async function tail(session: Session, options: TailOptions): Promise<void> {
  const { client, url, output, signal } = session;
  const { status } = options;
  const read = (createdAtFrom: string | undefined): AsyncIterable<RequestLog> =>
    pagesOf((cursor) => {
      const filters = { ...(createdAtFrom && { createdAtFrom }), ...(status && { status: status.class }) };
      const query = cursor === undefined ? { limit: PAGE_SIZE, ...filters } : { cursor };
      return client.GET('/request-logs', { params: { query } });
    });
  const matches = (entry: RequestLog): boolean => isWanted(entry, options);
  const print = (entry: RequestLog): void => output.result(entry, lineOf(entry));

  const latest = await readLatest(read(undefined), placeOf, matches, options.lines);
  for (const entry of latest.filter(matches).slice(0, options.lines).toReversed()) print(entry);
  if (!options.follow) return;
  output.progress(`Following the requests at ${url}. Ctrl-C ends it.`);
  const following = follow({
    read,
    placeOf,
    position: advance(START, latest, placeOf).position,
    signal,
    onOutage: (fault) => output.warning(`The API does not respond (${reasonOf(fault)}). Trying again until it does.`),
    onRecovery: () => output.progress('The API responds again.'),
  });
  for await (const entry of following) if (matches(entry)) print(entry);
}

/** Read every second by this program. */
const READINGS = ['/events', '/request-logs'];

type Filters = Pick<TailOptions, 'status' | 'method' | 'path' | 'all'>;

/** Whether a request is to be printed. The API filters by class of statuses only. */
export function isWanted(entry: Pick<RequestLog, 'method' | 'path' | 'status'>, filters: Filters): boolean {
  const { status, method, path, all } = filters;
  return (
    (status === undefined || status.exact === null || status.exact === entry.status) &&
    (method === undefined || method === entry.method) &&
    (path === undefined || entry.path.includes(path)) &&
    (all === true || entry.method !== 'GET' || entry.status >= 400 || !READINGS.includes(entry.path))
  );
}

const placeOf = ({ requestId, createdAt }: RequestLog) => ({ id: requestId, createdAt });

function lineOf({ createdAt, method, path, resourceId, status, errorCode, durationMs, requestId }: RequestLog): string {
  return [
    paint('dim', clockText(createdAt)),
    statusText(status),
    method.padEnd(6),
    path,
    ...(resourceId === null ? [] : [resourceId]),
    ...(errorCode === null ? [] : [paint('red', errorCode)]),
    `${durationMs} ms`,
    paint('dim', requestId),
  ].join(' ');
}
