// The SQL statement that posts a batch: its text, built once at start, and the parameter values of a batch in the order
// of the text.
import type { Book } from '../money.ts';
import type { BatchColumns } from './batch.ts';

/** The text of a statement and its parameter values for a batch. */
interface Statement {
  text: string;
  values: (book: Book, columns: BatchColumns) => string[];
}

/** An argument of the function: its name, the type to which its text is cast, and that text. */
type Argument = [name: string, type: string, text: (columns: BatchColumns, book: Book) => string];

/** Posts a batch. Returns a row for each movement that was not posted. */
export const POST: Statement = statement('SELECT movement, outcome, code, account_code, detail FROM ledger.post', [
  ['organisation', 'uuid', (_, book) => book.organisationId],
  ['book', 'text', (_, book) => book.environment],
  ['account_codes', 'text[]', ({ accounts }) => accounts.codes],
  ['account_kinds', 'text[]', ({ accounts }) => accounts.kinds],
  ['transaction_ids', 'uuid[]', ({ transactions }) => transactions.ids],
  ['transaction_keys', 'text[]', ({ transactions }) => transactions.keys],
  ['transaction_kinds', 'text[]', ({ transactions }) => transactions.kinds],
  ['transaction_resources', 'text[]', ({ transactions }) => transactions.resources],
  ['resolved_keys', 'text[]', ({ transactions }) => transactions.resolves],
  ['reversed_keys', 'text[]', ({ transactions }) => transactions.reverses],
  ['transaction_times', 'timestamptz[]', ({ transactions }) => transactions.times],
  ['transaction_rules', 'text[]', ({ transactions }) => transactions.rules],
  ['outcome_keys', 'text[]', ({ outcomes }) => outcomes.keys],
  ['outcome_attempts', 'uuid[]', ({ outcomes }) => outcomes.attempts],
  ['outcome_fingerprints', 'text[]', ({ outcomes }) => outcomes.fingerprints],
  ['outcome_status_codes', 'integer[]', ({ outcomes }) => outcomes.statusCodes],
  ['outcome_responses', 'text[]', () => '{}'],
  ['posting_movements', 'integer[]', ({ postings }) => postings.movements],
  ['debits', 'integer[]', ({ postings }) => postings.debits],
  ['credits', 'integer[]', ({ postings }) => postings.credits],
  ['amounts', 'bigint[]', ({ postings }) => postings.amounts],
  ['event_movements', 'integer[]', ({ events }) => events.movements],
  ['event_ids', 'uuid[]', ({ events }) => events.ids],
  ['event_types', 'text[]', ({ events }) => events.types],
  ['event_resources', 'text[]', ({ events }) => events.resources],
  ['event_documents', 'text[]', () => '{}'],
  ['event_times', 'timestamptz[]', ({ events }) => events.times],
  ['message_movements', 'integer[]', ({ messages }) => messages.movements],
  ['message_topics', 'text[]', ({ messages }) => messages.topics],
  ['messages', 'text[]', () => '{}'],
  ['resources', 'jsonb', () => '{}'],
  ['account_changes', 'bigint[]', ({ accounts }) => accounts.changes],
  ['account_entries', 'integer[]', ({ accounts }) => accounts.entries],
  // In place of the four that are empty above: ledger.post splits them.
  ['outcome_texts', 'text', ({ outcomes }) => outcomes.responses],
  ['event_texts', 'text', ({ events }) => events.documents],
  ['message_texts', 'text', ({ messages }) => messages.documents],
  ['resource_text', 'text', ({ resources }) => resources],
]);

function statement(head: string, callArguments: readonly Argument[]): Statement {
  const parameters = callArguments.map(([name, type], index) => `${name} => $${index + 1}::${type}`);
  return {
    text: `${head}(${parameters.join(', ')})`,
    values: (book, columns) => callArguments.map(([, , text]) => text(columns, book)),
  };
}
