// What a distributed Postgres refuses that a plain one accepts, as rules over the text of a statement
// (docs/decisions/0008-citus-is-a-deployment.md). Each rule returns what is wrong with the statement.
import {
  type Block,
  blocksOf,
  expanded,
  fromOf,
  nestedIn,
  orderOf,
  parse,
  partsOf,
  type Source,
  sourcesOf,
} from '../support/sqlBlocks.ts';

/** What the rules know about the schema. Tables of `public` are named without it. */
export interface Schema {
  /** The columns of each distributed table. */
  columns: ReadonlyMap<string, ReadonlySet<string>>;
  /** The identity column of those that have one. */
  identities: ReadonlyMap<string, string>;
  /** The functions that read or write a table, without the name of their schema. */
  functions: ReadonlySet<string>;
  /** Those of them whose first argument is the organisation: a call runs on its node (deploy/citus/distribute.sql). */
  delegated: ReadonlySet<string>;
}

type Rule = (statement: string, schema: Schema) => string[];

const NAME = /[a-z_][\w.]*/g;

/** The distributed tables that a part of a block names at its own level. */
const tablesIn = (part: string, { columns }: Schema): string[] =>
  [...part.matchAll(NAME)].map(([name]) => name).filter((name) => columns.has(name));

const readsTable = (block: Block, schema: Schema): boolean =>
  blocksOf(block).some(({ text }) => tablesIn(text, schema).length > 0);

/** What may stand in the action of an upsert besides columns: it is evaluated on the node of the row. */
const UPSERT_WORDS = new Set(
  (
    'do update set where case when then else end and or not is null distinct from true false in between like ' +
    'coalesce greatest least nullif'
  ).split(' '),
);

/**
 * `ON CONFLICT DO UPDATE` names columns of the row and of `excluded` only: no function, parameter or variable. A
 * fragment without its INSERT may name nothing.
 */
const upserts: Rule = (statement, schema) =>
  blocksOf(parse(statement)).flatMap((block) => {
    const [, table = '', alias = table.split('.').at(-1) ?? ''] =
      /\binsert into ([a-z_][\w.]*)(?: as ([a-z_]\w*))?/.exec(block.text) ?? [];
    if (table !== '' && !schema.columns.has(table)) return [];
    return [...block.text.matchAll(/\bon conflict\b.*?\b(do update\b.*?)(?=\breturning\b|;|$)/g)].flatMap(
      ([, action]) => {
        const words = expanded(action as string, block)
          .replaceAll(/::[a-z_]\w*/g, '')
          .matchAll(/\$\d+|[a-z_][\w.]*/g);
        return [...words]
          .map(([word]) => word)
          .filter((word) => !UPSERT_WORDS.has(word) && !isColumn(word, table, alias, schema))
          .map((word) => `ON CONFLICT DO UPDATE has ${word}`);
      },
    );
  });

function isColumn(word: string, table: string, alias: string, { columns }: Schema): boolean {
  if (word.startsWith('$')) return false;
  const [column = '', qualifier] = word.split('.').toReversed();
  const isQualified = qualifier === undefined || qualifier === alias || qualifier === 'excluded';
  return isQualified && columns.get(table)?.has(column) === true;
}

/** Over a FROM of functions and VALUES only, no subquery outside of it reads a table for each of their rows. */
const correlations: Rule = (statement, schema) => {
  const root = parse(statement);
  const queries = namesOfQueries(root);
  return blocksOf(root).flatMap((block) =>
    partsOf(block).flatMap((part) => {
      const from = fromOf(part);
      const sources = sourcesOf(from, block);
      const reads = ({ table, nested }: Source): boolean =>
        nested === null
          ? table !== null && (schema.columns.has(table) || queries.has(table))
          : readsTable(nested, schema);
      if (sources.length === 0 || sources.some(reads)) return [];
      const own = nestedIn(from, block);
      const subqueries = nestedIn(part, block)
        .filter((nested) => !own.includes(nested))
        .flatMap(blocksOf)
        .filter((nested) => /\bselect\b/.test(nested.text) && readsTable(nested, schema))
        .map((nested) => expanded(nested.text, nested));
      return sources
        .filter(({ alias }) => subqueries.some((text) => new RegExp(`\\b${alias}\\.`).test(text)))
        .map(({ alias }) => `a subquery reads a table for each row of ${alias}, which is no table`);
    }),
  );
};

/** What limits, orders or adds up the rows of a subquery as a whole. */
const WHOLE = /\b(?:limit|offset|group by|distinct)\b|\b(?:count|sum|min|max|array_agg|bool_or) ?\(#/;

/**
 * A LATERAL subquery that is evaluated as a whole for each row of a function or of VALUES does not take its
 * organisation from that row.
 */
const laterals: Rule = (statement, schema) =>
  blocksOf(parse(statement)).flatMap((block) =>
    partsOf(block).flatMap((part) => {
      const sources = sourcesOf(fromOf(part), block);
      const functions = sources
        .filter(({ table, nested }) => table === null && !(nested && readsTable(nested, schema)))
        .map(({ alias }) => alias);
      return sources
        .flatMap(({ nested }) => nested ?? [])
        .filter((nested) => readsTable(nested, schema) && WHOLE.test(nested.text))
        .filter((nested) => {
          const [, value, alias] =
            /\borganisation_id = (?:(\$\d+|[a-z_]\w*\b(?![.\w(]))|([a-z_]\w*)\.)/.exec(nested.text) ?? [];
          return value === undefined && (alias === undefined || functions.includes(alias));
        })
        .map((nested) => expanded(nested.text, nested))
        .flatMap((text) => functions.filter((alias) => new RegExp(`\\b${alias}\\.`).test(text)))
        .map((alias) => `a lateral subquery has no organisation but that of ${alias}, which is no table`);
    }),
  );

/** The names that the WITH clauses of a statement give to queries. */
const namesOfQueries = (root: Block): Set<string> =>
  new Set(
    blocksOf(root)
      .flatMap(({ text }) => [...text.matchAll(/(?:\bwith |, ?)([a-z_]\w*)(?: ?\(#\d+\))? as (?:materialized )?\(#/g)])
      .map(([, name]) => name as string),
  );

/** Rows are locked by one organisation, which is a value. */
const locks: Rule = (statement, schema) =>
  blocksOf(parse(statement))
    .filter(({ text }) => /\bfor (?:no key )?update\b|\bfor (?:key )?share\b/.test(text))
    .filter((block) => readsTable(block, schema))
    .filter(({ text }) => !/\borganisation_id = (?:\$\d+|[a-z_]\w*\b(?![.\w(]))/.test(text))
    .map(() => 'rows are locked without naming their organisation');

/** Depend on more than their arguments: on the moment, a sequence, or the time zone. */
const UNSTABLE = /\b(?:clock_timestamp|timeofday|random|gen_random_uuid|nextval|date_trunc|to_char) ?\(/;

/** A time of a row with an interval added: on the time zone too. */
const SHIFTED = /\b[a-z_]\w*_at [+-] (?:make_interval|interval)\b/;

/** What UPDATE and DELETE evaluate for each row depends on the row only. */
const updates: Rule = (statement, schema) =>
  blocksOf(parse(statement)).flatMap((block) =>
    [...block.text.matchAll(/\b(?:update|delete from) (?:only )?([a-z_][\w.]*)/g)]
      .filter(([, table]) => schema.columns.has(table as string))
      .map(({ index }) => expanded(block.text.slice(index), block))
      .flatMap((text) => [UNSTABLE.exec(text)?.[0], SHIFTED.exec(text)?.[0]])
      .filter((found) => found !== undefined)
      .map((found) => `an UPDATE or DELETE evaluates ${found.replace(/ ?\($/, '')} for its rows`),
  );

/** What UPDATE and DELETE return of a row are its columns, written out: no function that depends on the moment. */
const returns: Rule = (statement, schema) =>
  blocksOf(parse(statement)).flatMap((block) =>
    [...block.text.matchAll(/\b(?:update|delete from) (?:only )?([a-z_][\w.]*)[^;]*?\breturning\b([^;]*)/g)]
      .filter(([, table]) => schema.columns.has(table as string))
      .map(([, , list]) => expanded(list as string, block))
      .flatMap((list) => UNSTABLE.exec(list)?.[0] ?? /\bnow ?\(|\$\d+/.exec(list)?.[0] ?? [])
      .map((found) => `RETURNING has ${found.replace(/ ?\($/, '')}`),
  );

/** An array of one column, selected from arrays in parallel. */
const FROM_ARRAYS = /^select ([a-z_]\w*)\.([a-z_]\w*) from .*?\bunnest ?\(#\d+\) (?:as )?\1 ?(\(#\d+\))/;

/**
 * A subquery that Citus evaluates first reads each column of parallel arrays as the type of the first one: so that is
 * the one which it selects.
 */
const arrays: Rule = (statement, schema) =>
  blocksOf(parse(statement))
    .slice(1)
    .filter((block) => readsTable(block, schema))
    .flatMap((block) => {
      const [, , column, list] = FROM_ARRAYS.exec(block.text.trim()) ?? [];
      if (list === undefined) return [];
      const [first] = expanded(list, block).replaceAll(/[()]/g, '').split(',');
      return first?.trim() === column ? [] : [`${column} is selected, which is not the first of its arrays`];
    });

/** A function that reads or writes tables stands in a statement of its own. */
const calls: Rule = (statement, schema) => {
  const blocks = blocksOf(parse(statement));
  if (!blocks.some(({ text }) => tablesIn(text.replace(/\bfunction .*/, ''), schema).length > 0)) return [];
  return blocks
    .filter(({ text }) => !/\bdrop function\b/.test(text))
    .flatMap(({ text }) => [...text.matchAll(/\bledger\.([a-z_]\w*) ?\(#/g)])
    .filter(([, name]) => schema.functions.has(name as string))
    .map(([, name]) => `ledger.${name} is called beside a table`);
};

/** The rows of one moment of these tables have no order of their own: the id may come behind the time. */
const LOGS = new Set(['outbox', 'webhook_attempts', 'audit_log']);

/** The FROM clause that the names in an ORDER BY are of. */
interface Scope {
  from: string;
  block: Block;
}

/** No order by an identity column: nodes have ranges, so an organisation that moves gets lower ids than it had. */
const orders: Rule = (statement, schema) => {
  const problems: string[] = [];
  const visit = (block: Block, outer: Scope): void => {
    for (const part of partsOf(block)) {
      const from = fromOf(part);
      const scope = from === '' ? outer : { from, block };
      const order = orderOf(part);
      for (const [position, item] of order.entries()) {
        const table = identityTable(item, scope, schema);
        const isBehindTime = order.slice(0, position).some((before) => before.endsWith('_at'));
        if (table !== null && !(LOGS.has(table) && isBehindTime))
          problems.push(`ORDER BY has the identity of ${table}`);
      }
      for (const nested of nestedIn(part, block)) visit(nested, scope);
    }
  };
  const root = parse(statement);
  visit(root, { from: '', block: root });
  return problems;
};

/** The table whose identity column an item of an ORDER BY is; null: it is another column. */
function identityTable(item: string, { from, block }: Scope, schema: Schema): string | null {
  const [, qualifier, column] = /^(?:([a-z_]\w*)\.)?([a-z_]\w*)$/.exec(item) ?? [];
  const tables = sourcesOf(from, block)
    .filter(({ alias }) => qualifier === undefined || alias === qualifier)
    .flatMap(({ table, nested }) => (nested === null ? (table ?? []) : tablesRead(nested, schema)));
  return tables.find((table) => column !== undefined && schema.identities.get(table) === column) ?? null;
}

const tablesRead = (block: Block, schema: Schema): string[] =>
  blocksOf(block).flatMap((inner) => partsOf(inner).flatMap((part) => tablesIn(fromOf(part), schema)));

/** The rows of a subquery are known only when it has been evaluated. */
const EVALUATED = /\b(?:limit|offset|fetch first)\b/;

/**
 * A table is not joined to a limited subquery by the organisation of that one: Citus then evaluates the subquery first,
 * and reads the table afterwards, of all organisations and on another snapshot.
 */
const joins: Rule = (statement, schema) =>
  blocksOf(parse(statement)).flatMap((block) =>
    partsOf(block).flatMap((part) =>
      sourcesOf(fromOf(part), block)
        .filter(({ nested }) => nested !== null && readsTable(nested, schema) && EVALUATED.test(nested.text))
        .filter(({ alias, nested }) => {
          const others = block.nested.map((one) => (one === nested ? { text: '', nested: [] } : one));
          const text = expanded(part, { ...block, nested: others });
          const column = '\\b[a-z_]\\w*\\.organisation_id';
          const own = `\\b${alias}\\.organisation_id`;
          return new RegExp(`${column} = ${own}|${own} = ${column}`).test(text);
        })
        .map(({ alias }) => `a table is joined by the organisation of ${alias}, which is limited`),
    ),
  );

/** The whole of a statement that Citus sends to the node of the organisation: the call alone, or alone in FROM. */
const DELEGATED =
  /^select (?:.*\bfrom )?ledger\.[a-z_]\w* ?\(#\d+\)(?: (?:as )?(?!order\b|limit\b)[a-z_]\w*(?: ?\(#\d+\))?)?(?: order by .*)?(?: limit .*)?$/;

/** A function is all that is selected, FROM another one. */
const FUNCTION_OF_FUNCTION = /^select [a-z_][\w.]* ?\(#\d+\)(?: (?:as )?[a-z_]\w*)? from /;

/**
 * A call of the code that Citus runs on the node of its organisation stands alone there, with values for arguments.
 * Otherwise it runs on the coordinator, with the clock and the locks of that one. Not for the bodies of functions,
 * which are on the node already.
 */
export const delegation: Rule = (statement, schema) => {
  const root = parse(statement);
  const text = root.text.trim();
  return blocksOf(root).flatMap((block) =>
    [...block.text.matchAll(/\bledger\.([a-z_]\w*) ?(\(#\d+\))/g)]
      .filter(([, name]) => schema.delegated.has(name as string))
      .flatMap(([, name, list]) => {
        const values = expanded(list as string, block);
        if (block !== root || !DELEGATED.test(text) || text.split(/\bledger\.[a-z_]\w* ?\(/).length > 2) {
          return [`ledger.${name} does not stand alone`];
        }
        if (FUNCTION_OF_FUNCTION.test(text))
          return [`a function of what ledger.${name} returns is all that is selected`];
        return /\bselect\b/.test(values) || UNSTABLE.test(values)
          ? [`ledger.${name} has an argument that is no value`]
          : [];
      }),
  );
};

/** Each rule by what it is about. */
export const RULES = {
  upserts,
  correlations,
  laterals,
  joins,
  locks,
  updates,
  returns,
  arrays,
  calls,
  orders,
} satisfies Record<string, Rule>;
