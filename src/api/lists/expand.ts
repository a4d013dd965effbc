// `expand=sourceWallet,hold` (contract, section 4.12): the resources that the fields of an answer name by id, in the
// same answer. The ids stay; `sourceWallet` is beside `sourceWalletId`. One statement reads all of a kind.
import { z } from 'zod';
import { requireUuid } from '../../ids.ts';
import { kindOfId } from '../../resources/publicFields.ts';
import { READABLE, type Reading, readAll } from '../readable.ts';
import { requireScope } from '../route.ts';

type Kind = keyof typeof READABLE;
/** The kinds of what can be expanded, by name: that of the field without `Id`. */
type Expandable = Readonly<Record<string, Kind>>;

/** What can be expanded in an item of this schema: each field that names a resource which can be read by its id. */
export function expandableOf(item: z.ZodType): Expandable {
  if (!(item instanceof z.ZodObject)) return {};
  const named = Object.entries(item.shape as Record<string, z.ZodType>).map(([field, schema]) => {
    const kind = field.endsWith('Id') ? kindOfId(schema) : undefined;
    return [field.slice(0, -'Id'.length), kind] as const;
  });
  return Object.fromEntries(named.filter((entry): entry is [string, Kind] => (entry[1] ?? '') in READABLE));
}

/** The parameter of a query: names after commas, or the parameter repeated; none, where nothing can be expanded. */
export function expandField(expandable: Expandable): { expand: z.ZodType<string[] | undefined> } {
  const names = Object.keys(expandable);
  if (names.length === 0) return {} as ReturnType<typeof expandField>;
  const list = z.preprocess(
    (value) => (typeof value === 'string' ? value.split(',') : value),
    z.array(z.enum(names)).max(names.length),
  );
  return {
    expand: list.describe('Adds the resources that `…Id` fields name, each as the name without `Id`').optional(),
  };
}

/** The schema of an item with what `expand` adds to it. */
export function expandedItem<Item>(item: z.ZodType<Item>): z.ZodType<Item> {
  const added = Object.entries(expandableOf(item)).map(([name, kind]) => {
    const { item: resource }: { item: z.ZodType } = READABLE[kind];
    return [name, resource.nullable().optional().describe(`Only with \`expand=${name}\``)];
  });
  if (added.length === 0) return item;
  const id = `Expandable${item.meta()?.id}`;
  return (item as unknown as z.ZodObject).extend(Object.fromEntries(added)).meta({ id }) as unknown as z.ZodType<Item>;
}

/**
 * Returns what adds to each item the resources of these names, null where its id is null. Throws
 * API_KEY_SCOPE_FORBIDDEN, before anything is read, for a key that may not read one of them.
 */
export function expansion(call: Reading, expandable: Expandable, names: readonly string[] = []) {
  const wanted = names.map((name) => ({ name, kind: expandable[name] as Kind }));
  for (const { kind } of wanted) requireScope(call.caller, [READABLE[kind].access], { reads: true });
  return async <Item>(items: Item[]): Promise<Item[]> => {
    const rows = items as Record<string, unknown>[];
    const ids = rows.flatMap((item) => wanted.map(({ name, kind }) => ({ kind, id: item[`${name}Id`] })));
    const found = await readAll(
      call,
      ids.flatMap(({ kind, id }) => (typeof id === 'string' ? [{ kind, id: requireUuid(kind, id) }] : [])),
    );
    const added = (item: Record<string, unknown>) =>
      Object.fromEntries(names.map((name) => [name, found.get(String(item[`${name}Id`])) ?? null]));
    return rows.map((item) => ({ ...item, ...added(item) })) as Item[];
  };
}
