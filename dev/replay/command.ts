// `npm run replay -- WORKFLOW_ID | FILE.json`: replays a flow's history, from a Temporal server or a file, with the
// code of this checkout. Prints ok, or where they diverge: the event and the line of code (docs/replaying.md).
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
import { VERSION } from '../../src/release.ts';
import { connect } from '../../src/temporal/connect.ts';
import { dataConverterOf, readPayloadKeys } from '../../src/temporal/dataConverter.ts';
import { DEFAULT_NAMESPACE, readProfile } from '../../src/temporal/profile.ts';
import { bundleWorkflows } from '../../src/worker/workflowBundle.ts';
import { StateFolder } from '../stateFolder.ts';
import { type Divergence, Recording } from './divergence.ts';
import { type NotedCommand, type ProbeSinks, STOP_MEMO } from './probe.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const PROBE = fileURLToPath(new URL('probe.ts', import.meta.url));

const GRPC_NOT_FOUND = 5;

/** Enough to include the project's frames below the SDK's. */
const STACK_FRAMES_MAX = 50;

interface Options {
  address?: string;
  namespace?: string;
  runId?: string;
  /** `true`: at the divergence, or at the start when there is none. */
  debug?: true | number;
}

const program = new Command('npm run replay --')
  .version(VERSION)
  .description('Replays the history of a flow with the code of this checkout.')
  .argument('<history...>', 'workflow ids, or history files as the Temporal UI and CLI download them')
  .option('--address <host:port>', 'the Temporal server (default: TEMPORAL_ADDRESS, or the server of `npm start`)')
  .option('--namespace <name>', 'its namespace (default: TEMPORAL_NAMESPACE, or `default`)')
  .option('--run-id <id>', 'the run of the workflow (default: the latest)')
  .option(
    '--debug [event]',
    'wait for a debugger and stop in the workflow task of this event (default: at the divergence)',
    eventNumber,
  )
  .addHelpText('after', '\nExample:\n  $ npm run --silent replay -- svc_01k9…_wth --debug 12')
  .exitOverride()
  .configureOutput({ outputError: () => {} });

function eventNumber(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('Expected an event id.');
  return Number(text);
}

async function main(): Promise<void> {
  program.parse();
  const options = program.opts<Options>();
  const names = program.args;
  if (options.debug !== undefined && names.length > 1) {
    throw new CommandError('--debug accepts a single history.', EXIT.usage);
  }
  const histories = new Map<string, History>();
  for (const name of names) {
    histories.set(name, name.endsWith('.json') ? readHistory(name) : await fetchHistory(name, options));
  }
  const logger = new DefaultLogger('ERROR', () => {}); // `report` prints the SDK's message
  const workflowBundle = await bundleWorkflows({ interceptors: [PROBE], logger });
  Runtime.install({ logger, telemetryOptions: { logging: { filter: 'ERROR', forward: {} } } });
  v8.setFlagsFromString(`--stack-trace-limit=${STACK_FRAMES_MAX}`);
  for (const [name, history] of histories) {
    const failure = await replay(workflowBundle, history);
    report(name, new Recording(history), failure);
    if (failure !== null) process.exitCode = EXIT.failed;
    if (options.debug !== undefined) await debug(workflowBundle, history, options.debug, failure);
  }
}

function readHistory(file: string): History {
  if (!existsSync(file)) throw new CommandError(`The file ${file} does not exist.`);
  try {
    return historyFromJSON(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new CommandError(`${file} is not a workflow history: ${(error as Error).message}`);
  }
}

async function fetchHistory(workflowId: string, options: Options): Promise<History> {
  const profile = readProfile(process.env);
  const address =
    options.address ?? profile.address ?? new StateFolder(stateFolderPath()).quickstart()?.temporalAddress;
  if (address === undefined) {
    throw new CommandError('No Temporal server: set --address or TEMPORAL_ADDRESS, or run `npm start`.');
  }
  const namespace = options.namespace ?? profile.namespace ?? DEFAULT_NAMESPACE;
  const target = { address, namespace, credentials: () => profile.credentials };
  const connection = await connect(Connection, target);
  try {
    return await new Client({ connection, namespace }).workflow.getHandle(workflowId, options.runId).fetchHistory();
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== GRPC_NOT_FOUND) throw error;
    throw new CommandError(`The server at ${address} has no workflow ${workflowId} in the namespace ${namespace}.`);
  } finally {
    await connection.close();
  }
}

/** Decrypts the payloads of encrypted flows. */
const { payloadCodecs } = dataConverterOf(readPayloadKeys(process.env));

interface ReplayFailure {
  error: Error;
  /** The last event that was delivered to the code. */
  lastEventId: number;
  commands: NotedCommand[];
}

/** Returns null when the code replays the history. */
async function replay(workflowBundle: WorkflowBundle, history: History): Promise<ReplayFailure | null> {
  const commands: NotedCommand[] = [];
  let lastEventId = 0;
  const sinks: InjectedSinks<ProbeSinks> = {
    probe: {
      activated: {
        fn: (_workflow, event) => {
          lastEventId = event;
        },
        callDuringReplay: true,
      },
      issued: { fn: (_workflow, command) => void commands.push(command), callDuringReplay: true },
    },
  };
  try {
    await Worker.runReplayHistory(
      { workflowBundle, sinks, dataConverter: { payloadCodecs } },
      history,
      startOf(history).workflowId ?? undefined,
    );
    return null;
  } catch (error) {
    return { error: error as Error, lastEventId, commands };
  }
}

const startOf = (history: History) => history.events?.[0]?.workflowExecutionStartedEventAttributes ?? {};

function report(name: string, recording: Recording, failure: ReplayFailure | null): void {
  if (failure === null) {
    console.log(`ok  ${name}: all ${recording.length} events replayed`);
    return;
  }
  const { error, lastEventId, commands } = failure;
  const thrown = thrownBy(error);
  const divergence = thrown === null ? recording.compare(lastEventId, commands) : null;
  console.log(`${name} cannot be replayed with this code.`);
  if (divergence !== null) for (const line of describe(divergence)) console.log(`  ${line}`);
  console.log(thrown === null ? `  ${sdkMessage(error)}` : `  after event ${lastEventId} the code throws${thrown}`);
}

/** The SDK's error message, without the Rust debug format around it. */
const sdkMessage = (error: Error): string => rustField(error, 'message') ?? error.message;

/** The error that the code threw, with its stack; null when it threw none. */
function thrownBy(error: Error): string | null {
  if (error instanceof DeterminismViolationError) return null;
  const stack = rustField(error, 'stack_trace')?.replaceAll(PROJECT, '');
  return stack?.slice(stack.indexOf('\n\n') + 1).replaceAll('\n', '\n    ') || null; // without the SDK's own line
}

/** A field of a failure that is printed in Rust's debug format. */
function rustField({ message }: Error, field: 'message' | 'stack_trace'): string | null {
  const text = new RegExp(`\\b${field}: ("(?:[^"\\\\]|\\\\.)*")`).exec(message)?.[1];
  return text === undefined ? null : (JSON.parse(text.replaceAll("\\'", "'")) as string);
}

function describe({ eventId, recorded, produced, lines }: Divergence): string[] {
  return [
    `event ${eventId ?? '-'}`,
    `  recorded  ${recorded}`,
    `  produced  ${produced}`,
    ...lines.map((line) => `    ${quote(line)}`),
  ];
}

/** `src/a.ts:12   the text of that line`, for `/…/src/a.ts:12:5`. */
function quote(position: string): string {
  const [, file = '', line = ''] = /^(.*):(\d+):\d+$/.exec(position) ?? [];
  const text = existsSync(file) ? readFileSync(file, 'utf8').split('\n')[Number(line) - 1] : undefined;
  return `${file.replace(PROJECT, '')}:${line}   ${text?.trim() ?? ''}`;
}

/** Replays the history again with a debugger attached, and stops in the workflow task of the event. */
async function debug(
  workflowBundle: WorkflowBundle,
  history: History,
  event: true | number,
  failure: ReplayFailure | null,
): Promise<void> {
  const stopAt = event === true ? (failure?.lastEventId ?? 1) : new Recording(history).taskStartOf(event);
  const start = startOf(history);
  start.memo = {
    fields: { ...start.memo?.fields, [STOP_MEMO]: defaultPayloadConverter.toPayload(stopAt) },
  };
  console.log(
    `Attach a debugger, for example chrome://inspect. It stops when the code has received the events up to ${stopAt}.`,
  );
  inspector.open(0, '127.0.0.1', true);
  await replay(workflowBundle, history);
  inspector.close();
}

try {
  await main();
} catch (error) {
  process.exitCode = reportFailure(error);
}
