// `npm run replay -- WORKFLOW_ID | FILE.json`: replays a flow's history, from a Temporal server or a file, with the code
// that is checked out here. Says ok, or where the two part: the event, and the line of code (docs/replaying.md).
import { existsSync, readFileSync } from 'node:fs';
import inspector from 'node:inspector';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';
import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { type History, historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, type InjectedSinks, Runtime, Worker, type WorkflowBundle } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { Command, InvalidArgumentError } from 'commander';
import { CommandError, EXIT, reportFailure } from '../../src/cli/failure.ts';
import { stateFolderPath } from '../../src/cli/settings.ts';
import { bundleWorkflows } from '../../src/worker/workflowBundle.ts';
import { StateFolder } from '../stateFolder.ts';
import { DEFAULT_NAMESPACE } from '../temporal.ts';
import { type Divergence, Recording } from './divergence.ts';
import { type NotedCommand, type ProbeSinks, STOP_MEMO } from './probe.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const PROBE = fileURLToPath(new URL('probe.ts', import.meta.url));

const GRPC_NOT_FOUND = 5;

/** Enough to reach our own code through the SDK's. */
const STACK_FRAMES_MAX = 50;

interface Options {
  address?: string;
  namespace?: string;
  runId?: string;
  /** `true`: where history and code part, or at the start. */
  debug?: true | number;
}

const program = new Command('npm run replay --')
  .description('Replays the history of a flow with the code that is checked out here.')
  .argument('<history...>', 'workflow ids, or files with histories as the Temporal UI and command line download them')
  .option('--address <host:port>', 'the Temporal server (default: TEMPORAL_ADDRESS, or what `npm start` wrote)')
  .option('--namespace <name>', 'its namespace (default: TEMPORAL_NAMESPACE, or `default`)')
  .option('--run-id <id>', 'that run of the workflow, and not its last one')
  .option(
    '--debug [event]',
    'wait for a debugger and stop in the workflow task of this event (default: where history and code part)',
    eventNumber,
  )
  .addHelpText('after', '\nExample:\n  $ npm run --silent replay -- svc_01k9…_wth --debug 12')
  .exitOverride()
  .configureOutput({ outputError: () => {} });

function eventNumber(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('It takes the number of an event.');
  return Number(text);
}

async function main(): Promise<void> {
  program.parse();
  const options = program.opts<Options>();
  const names = program.args;
  if (options.debug !== undefined && names.length > 1) {
    throw new CommandError('--debug takes one history.', EXIT.usage);
  }
  const histories = new Map<string, History>();
  for (const name of names) {
    histories.set(name, name.endsWith('.json') ? readHistory(name) : await fetchHistory(name, options));
  }
  const logger = new DefaultLogger('ERROR', () => {}); // what the SDK says about a misfit is said better below
  const workflowBundle = await bundleWorkflows({ interceptors: [PROBE], logger });
  Runtime.install({ logger, telemetryOptions: { logging: { filter: 'ERROR', forward: {} } } });
  v8.setFlagsFromString(`--stack-trace-limit=${STACK_FRAMES_MAX}`);
  for (const [name, history] of histories) {
    const misfit = await replay(workflowBundle, history);
    report(name, new Recording(history), misfit);
    if (misfit !== null) process.exitCode = EXIT.failed;
    if (options.debug !== undefined) await debug(workflowBundle, history, options.debug, misfit);
  }
}

function readHistory(file: string): History {
  if (!existsSync(file)) throw new CommandError(`There is no file ${file}.`);
  try {
    return historyFromJSON(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new CommandError(`${file} does not hold a history: ${(error as Error).message}`);
  }
}

async function fetchHistory(workflowId: string, options: Options): Promise<History> {
  const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = process.env;
  const address =
    options.address ?? (TEMPORAL_ADDRESS || new StateFolder(stateFolderPath()).quickstart()?.temporalAddress);
  if (address === undefined) {
    throw new CommandError('Name the Temporal server: --address, or TEMPORAL_ADDRESS. `npm start` does not run here.');
  }
  const namespace = options.namespace ?? (TEMPORAL_NAMESPACE || DEFAULT_NAMESPACE);
  const connection = await Connection.connect({ address }).catch((error: Error) => {
    throw new CommandError(`No Temporal server answers at ${address}: ${error.message}`);
  });
  try {
    return await new Client({ connection, namespace }).workflow.getHandle(workflowId, options.runId).fetchHistory();
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== GRPC_NOT_FOUND) throw error;
    throw new CommandError(`The server at ${address} has no workflow ${workflowId} in the namespace ${namespace}.`);
  } finally {
    await connection.close();
  }
}

interface Misfit {
  error: Error;
  /** Up to which event the code had heard of the history. */
  heard: number;
  noted: NotedCommand[];
}

/** Null: the code goes the way that the history went. */
async function replay(workflowBundle: WorkflowBundle, history: History): Promise<Misfit | null> {
  const noted: NotedCommand[] = [];
  let heard = 0;
  const sinks: InjectedSinks<ProbeSinks> = {
    probe: {
      hear: {
        fn: (_workflow, event) => {
          heard = event;
        },
        callDuringReplay: true,
      },
      note: { fn: (_workflow, command) => void noted.push(command), callDuringReplay: true },
    },
  };
  try {
    await Worker.runReplayHistory({ workflowBundle, sinks }, history, startOf(history).workflowId ?? undefined);
    return null;
  } catch (error) {
    return { error: error as Error, heard, noted };
  }
}

const startOf = (history: History) => history.events?.[0]?.workflowExecutionStartedEventAttributes ?? {};

function report(name: string, recording: Recording, misfit: Misfit | null): void {
  if (misfit === null) {
    console.log(`ok  ${name}: this code goes the same way through all ${recording.length} events`);
    return;
  }
  const { error, heard, noted } = misfit;
  const thrown = thrownBy(error);
  const divergence = thrown === null ? recording.compare(heard, noted) : null;
  console.log(`${name} does not fit this code.`);
  if (divergence !== null) for (const line of describe(divergence)) console.log(`  ${line}`);
  console.log(thrown === null ? `  ${saidBy(error)}` : `  after event ${heard} this code throws${thrown}`);
}

/** What the SDK says is wrong, without the Rust that it is wrapped in. */
const saidBy = (error: Error): string => rustField(error, 'message') ?? error.message;

/** What the code threw, with its stack; null when it threw nothing. */
function thrownBy(error: Error): string | null {
  if (error instanceof DeterminismViolationError) return null;
  const stack = rustField(error, 'stack_trace')?.replaceAll(PROJECT, '');
  return stack?.slice(stack.indexOf('\n\n') + 1).replaceAll('\n', '\n    ') || null; // without the SDK's own line
}

/** A field of a failure as Rust's debug format has it. */
function rustField({ message }: Error, field: 'message' | 'stack_trace'): string | null {
  const text = new RegExp(`\\b${field}: ("(?:[^"\\\\]|\\\\.)*")`).exec(message)?.[1];
  return text === undefined ? null : (JSON.parse(text.replaceAll("\\'", "'")) as string);
}

function describe({ eventId, recorded, given, lines }: Divergence): string[] {
  return [
    `event ${eventId ?? '-'}`,
    `  the history has  ${recorded}`,
    `  this code gives  ${given}`,
    ...lines.map((line) => `    ${quote(line)}`),
  ];
}

/** `src/a.ts:12   the text of that line`, for `/…/src/a.ts:12:5`. */
function quote(place: string): string {
  const [, file = '', line = ''] = /^(.*):(\d+):\d+$/.exec(place) ?? [];
  const text = existsSync(file) ? readFileSync(file, 'utf8').split('\n')[Number(line) - 1] : undefined;
  return `${file.replace(PROJECT, '')}:${line}   ${text?.trim() ?? ''}`;
}

/** Replays it once more, with a debugger attached that stops in the workflow task of the event. */
async function debug(
  workflowBundle: WorkflowBundle,
  history: History,
  event: true | number,
  misfit: Misfit | null,
): Promise<void> {
  const stopAt = event === true ? (misfit?.heard ?? 1) : new Recording(history).heardAt(event);
  const start = startOf(history);
  start.memo = {
    fields: { ...start.memo?.fields, [STOP_MEMO]: defaultPayloadConverter.toPayload(stopAt) },
  };
  console.log(
    `Attach a debugger, for example chrome://inspect. It stops when the code has heard up to event ${stopAt}.`,
  );
  inspector.open(0, '127.0.0.1', true);
  await replay(workflowBundle, history);
  inspector.close();
}

try {
  await main();
} catch (fault) {
  process.exitCode = reportFailure(fault);
}
