// `trigger`: makes an event really happen in the sandbox, by requests and simulations, and waits for it.
import { type Command, InvalidArgumentError } from 'commander';
import { dataOf, type Event } from '../../../typescript/src/index.ts';
import { addCommand, amountOf, secondsOf } from '../command.ts';
import { eventText } from '../eventText.ts';
import { CommandError, EXIT } from '../failure.ts';
import { createOutput, paint } from '../output.ts';
import { EVENT_TYPES, RECIPES } from '../recipes.ts';
import { openSession, type SessionOptions } from '../session.ts';
import { Stage } from '../stage.ts';

interface TriggerOptions extends SessionOptions {
  list?: true;
  partial?: true;
  amount?: number;
  endpoint?: string;
  timeout: number;
}

const AMOUNT_DEFAULT = 200_000;
const TIMEOUT_DEFAULT_SECONDS = 60;

export function addTriggerCommand(program: Command, signal: AbortSignal): void {
  addCommand(program, 'trigger', 'make an event happen in the sandbox', 'trigger payment.settled --partial')
    .argument('[event]', 'its type; --list shows all', typeOf)
    .option('--list', 'list the events and how they happen')
    .option('--partial', 'of payment.settled and payment.expired: only a part is paid')
    .option('--amount <naira>', 'the amount (default: 2,000.00)', amountOf)
    .option('--endpoint <id>', 'of webhook.test: the endpoint')
    .option('--timeout <seconds>', 'how long to wait for the event', secondsOf, TIMEOUT_DEFAULT_SECONDS)
    .action(async (type: Event['type'] | undefined, options: TriggerOptions) => {
      if (options.list) return list(options);
      if (type === undefined) throw new CommandError('Name an event: manilla trigger --list', EXIT.usage);
      await trigger(type, options, signal);
    });
}

function typeOf(text: string): Event['type'] {
  const type = EVENT_TYPES.find((each) => each === text);
  if (type === undefined) throw new InvalidArgumentError(`${text} is no event. They are: manilla trigger --list`);
  return type;
}

function list({ json }: TriggerOptions): void {
  const output = createOutput(json === true);
  const width = Math.max(...EVENT_TYPES.map((type) => type.length));
  for (const type of EVENT_TYPES) {
    const recipe = RECIPES[type];
    const reason = 'impossible' in recipe ? recipe.impossible : null;
    const line = `${paint('cyan', type.padEnd(width))}  ${recipe.summary}`;
    output.result(
      { type, summary: recipe.summary, impossible: reason },
      reason === null ? line : `${line}. ${paint('yellow', `Not here: ${reason}`)}`,
    );
  }
}

async function trigger(type: Event['type'], options: TriggerOptions, signal: AbortSignal): Promise<void> {
  const recipe = RECIPES[type];
  if ('impossible' in recipe) throw new CommandError(`${type} cannot be made here. ${recipe.impossible}`, EXIT.usage);
  if (options.partial && recipe.takesPartial === undefined) {
    throw new CommandError('--partial is of payment.settled and payment.expired only.', EXIT.usage);
  }
  const session = await openSession(options, signal);
  const { client, output } = session;
  const stage = new Stage(session, {
    amount: options.amount ?? AMOUNT_DEFAULT,
    partial: options.partial === true,
    endpointId: options.endpoint,
    timeoutMs: options.timeout * 1000,
  });
  output.progress(`Making ${type} happen`);
  const caused = await recipe.cause(stage);
  const event = await stage.until(`the event ${type}`, async () => {
    if ('eventId' in caused) {
      return await dataOf(client.GET('/events/{id}', { params: { path: { id: caused.eventId } } }));
    }
    const query = { type, resourceId: caused.resourceId, limit: 1 };
    return (await dataOf(client.GET('/events', { params: { query } })))[0];
  });
  output.result({ event }, eventText(event));
}
