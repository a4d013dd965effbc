// Search (contract, section 4.12): any resource by its id, or by what the caller attached to it.
import { z } from 'zod';
import { publicId, type Uuid } from '../../ids.ts';
import { findByText, SEARCHABLE } from '../../resources/search.ts';
import { parseResource } from '../../resources/tables.ts';
import { invalidField } from '../errors.ts';
import { listRoute } from '../lists/listRoute.ts';
import { READABLE, readAll } from '../readable.ts';
import { type Call, hasScope } from '../route.ts';
import { text } from '../schemas.ts';

type Kind = keyof typeof READABLE;
const KINDS = Object.keys(READABLE) as Kind[];

interface Row {
  id: Uuid;
  createdAt: Date;
  kind: Kind;
  resource: { id: string; createdAt: string };
}

/** Reads what was found as its own routes return it. */
async function readFound(call: Call<undefined>, found: readonly { kind: Kind; id: Uuid }[]): Promise<Row[]> {
  const byId = await readAll(call, found);
  return found.flatMap(({ kind, id }) => {
    const resource = byId.get(publicId(kind, id));
    return resource === undefined ? [] : [{ id, createdAt: new Date(resource.createdAt), kind, resource }];
  });
}

export const search = listRoute({
  operationId: 'search',
  item: z
    .object({
      kind: z.enum(KINDS),
      resource: z.union(KINDS.map((kind): z.ZodType<{ id: string; createdAt: string }> => READABLE[kind].item)),
    })
    .meta({ id: 'SearchResult' }),
  path: '/search',
  access: [...new Set(KINDS.map((kind) => READABLE[kind].access))],
  filters: {
    query: text(500)
      .describe('Required: an id, a reference of yours, the email of a wallet, or a value of metadata, exactly')
      .optional(), // a cursor has it
  },
  find: async (call, { query }, page) => {
    if (query === undefined) throw invalidField({ field: 'query', code: 'invalid_type', message: 'is required' });
    const kinds = KINDS.filter((kind) => hasScope(call.caller, [READABLE[kind].access], { reads: true }));
    const named = parseResource(query, kinds);
    if (named !== null) return await readFound(call, [named]);
    const [first, ...others] = SEARCHABLE.filter((kind) => kinds.includes(kind));
    if (first === undefined) return [];
    return await readFound(call, await findByText(call.sql, call.book, [first, ...others], query, page));
  },
  view: ({ kind, resource }: Row) => ({ kind, resource }),
});
