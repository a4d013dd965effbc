// Reads SQL as far as the rules for statements need it: the statements in the source, and each statement as a tree of
// its parentheses, so that a clause is told apart from those of its subqueries.

/** A statement or what stands in parentheses. */
export interface Block {
  /** In lower case and on one line, without comments and the text of strings; `(#2)` stands for `nested[2]`. */
  text: string;
  nested: Block[];
}

/** `$1` stands for every value and fragment that a template literal includes. */
const PARAMETER = '$1';

/** The statements and fragments that a TypeScript file gives to the driver: each template literal of its own. */
export function statementsOfCode(code: string): string[] {
  return [...code.matchAll(/(?:[sS]ql|snapshot)(?:<[^`]*?>)?`/g)].map(
    ({ 0: { length }, index }) => readTemplate(code, index + length).text,
  );
}

/** The template literal that begins at `start`, behind its backtick, and the position behind its end. */
function readTemplate(code: string, start: number): { text: string; end: number } {
  let text = '';
  for (let at = start; at < code.length; at += 1) {
    if (code[at] === '`') return { text, end: at + 1 };
    if (code.startsWith('${', at)) {
      at = endOfExpression(code, at + 2);
      text += PARAMETER;
    } else {
      text += code[at];
    }
  }
  throw new Error('a template literal has no end');
}

/** The position of the brace that closes the expression of a template literal. */
function endOfExpression(code: string, start: number): number {
  let depth = 0;
  for (let at = start; at < code.length; at += 1) {
    const sign = code[at] as string;
    if (sign === '`') at = readTemplate(code, at + 1).end - 1;
    else if (sign === "'" || sign === '"') at = endOfString(code, at);
    else if (sign === '{') depth += 1;
    else if (sign === '}' && depth === 0) return at;
    else if (sign === '}') depth -= 1;
  }
  throw new Error('an expression in a template literal has no end');
}

function endOfString(code: string, start: number): number {
  const end = code.indexOf(code[start] as string, start + 1);
  if (end === -1) throw new Error('a string in a template literal has no end');
  return end;
}

/**
 * The statements of a file of functions: those of the bodies, and the others. The condition of an IF is one of its own.
 */
export function statementsOfFunctions(text: string): string[] {
  return plain(text)
    .split(/;|\$\$|\bbegin\b|\bloop\b/)
    .flatMap(withoutConditions)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** Splits `if … then …` in two, repeatedly. */
function withoutConditions(statement: string): string[] {
  const rest = statement.trim().replace(/^else\b(?!if)/, '');
  const [condition] = /^\s*(?:els)?if\b(?:(?!\bthen\b|\bcase\b).|\bcase\b.*?\bend\b)*\bthen\b/.exec(rest) ?? [];
  return condition === undefined ? [rest] : [condition, ...withoutConditions(rest.slice(condition.length))];
}

/** In lower case and on one line, without comments and the text of strings. */
const plain = (text: string): string =>
  text
    .replaceAll(/'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g, (part) => (part.startsWith("'") ? "''" : ' '))
    .replaceAll(/\s+/g, ' ')
    .toLowerCase();

/** The tree of a statement. Parentheses that a fragment leaves open are closed at its end. */
export function parse(statement: string): Block {
  const root: Block = { text: '', nested: [] };
  const open = [root];
  for (const sign of plain(statement)) {
    const block = open.at(-1) as Block;
    if (sign === '(') {
      block.text += `(#${block.nested.length})`;
      const inner: Block = { text: '', nested: [] };
      block.nested.push(inner);
      open.push(inner);
    } else if (sign === ')' && open.length > 1) {
      open.pop();
    } else {
      block.text += sign;
    }
  }
  return root;
}

/** A block and all in it. */
export const blocksOf = (block: Block): Block[] => [block, ...block.nested.flatMap(blocksOf)];

/** The text of a part of a block with what its parentheses contain. */
export const expanded = (part: string, { nested }: Block): string =>
  part.replaceAll(/\(#(\d+)\)/g, (_, index: string) => {
    const inner = nested[Number(index)] as Block;
    return `(${expanded(inner.text, inner)})`;
  });

/** The blocks that a part of a block has in parentheses. */
export const nestedIn = (part: string, { nested }: Block): Block[] =>
  [...part.matchAll(/\(#(\d+)\)/g)].map(([, index]) => nested[Number(index)] as Block);

/** The parts of a block that UNION, INTERSECT and EXCEPT join, and those of several statements. */
export const partsOf = ({ text }: Block): string[] => text.split(/\b(?:union|intersect|except)\b(?: all)?|;/);

const CLAUSE_END =
  /\b(?:where|group by|having|window|order by|limit|offset|for (?:no key )?update|for (?:key )?share|returning|on conflict|set)\b/;

/** The FROM clause of a part, with the table that an UPDATE changes; '' where there is none. */
export function fromOf(part: string): string {
  const clear = part.replaceAll(/\bdistinct from\b/g, 'distinct_from');
  const [, changed = ''] = /\bupdate (?:only )?([a-z_][\w.]*(?: (?:as )?(?!set\b)[a-z_]\w*)?) set\b/.exec(clear) ?? [];
  const from = /\bfrom\b/.exec(clear);
  const read = from === null ? '' : (clear.slice(from.index + 'from'.length).split(CLAUSE_END)[0] ?? '');
  return [changed, read].filter((list) => list !== '').join(', ');
}

/** A table, or what a FROM clause has in parentheses, by the name that the statement uses. */
export interface Source {
  /** Null: a subquery. */
  table: string | null;
  /** Null: a table. */
  nested: Block | null;
  alias: string | undefined;
}

/** What a FROM clause of a block reads. A function is a source without a table and without a subquery. */
export const sourcesOf = (from: string, { nested }: Block): Source[] =>
  from
    .replaceAll(/\b(?:cross|inner|left|right|full|outer|natural|lateral|only)\b/g, ' ')
    .replaceAll(/\bjoin\b|\busing (?!\()/g, ',')
    .split(',')
    .map((item) => item.replace(/ (?:on|using)\b.*/, '').trim())
    .flatMap((item): Source[] => {
      const [, name, called, index, alias] =
        /^(?:([a-z_][\w.]*)( ?\(#\d+\))?|\(#(\d+)\))(?: (?:as )?([a-z_]\w*))?/.exec(item) ?? [];
      if (name !== undefined && called === undefined) {
        return [{ table: name, nested: null, alias: alias ?? name.split('.').at(-1) }];
      }
      const subquery = index === undefined ? null : (nested[Number(index)] as Block);
      return name === undefined && subquery === null ? [] : [{ table: null, nested: subquery, alias: alias ?? name }];
    });

/** The items of the last ORDER BY of a part; [] where there is none. */
export function orderOf(part: string): string[] {
  const [, order] = /\border by (?!.*\border by )(.*)/.exec(part) ?? [];
  if (order === undefined) return [];
  const list = order.split(/\b(?:limit|offset|for (?:no key )?update|for (?:key )?share|rows|range)\b|$/)[0] ?? '';
  return list.split(',').map((item) => item.replace(/ (?:asc|desc)\b.*| nulls .*/, '').trim());
}
