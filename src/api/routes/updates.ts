// Changes of what moves no money (contract, section 4.12): metadata, the description of what has one, and the contact
// details of a wallet.
import { z } from 'zod';
import { updateAttached } from '../../resources/references.ts';
import { notFound } from '../errors.ts';
import { READABLE } from '../readable.ts';
import { requireId } from '../requireRow.ts';
import { type Route, route } from '../route.ts';
import { line, metadataChanges, optional, text, tooManyKeys } from '../schemas.ts';

const metadata = { metadata: metadataChanges };

/** What may change, by resource. Null clears a value, but an e-mail address. */
const FIELDS = {
  wallet: {
    email: optional(z.email().max(254)),
    fullName: line(200).nullish(),
    phone: line(32).nullish(),
    ...metadata,
  },
  payment: { description: text(500).nullish(), ...metadata },
  transfer: { description: text(500).nullish(), ...metadata },
  withdrawal: metadata,
  refund: metadata,
  payout: metadata,
};

export const updateRoutes: Route[] = (Object.keys(FIELDS) as (keyof typeof FIELDS)[]).map((resource) =>
  route({
    operationId: `update${resource.replace(/^./, (initial) => initial.toUpperCase())}`,
    success: { status: 200, data: READABLE[resource].item as z.ZodType },
    endpoint: `PATCH ${READABLE[resource].path}/:id`,
    access: READABLE[resource].access,
    body: z
      .strictObject<z.ZodRawShape>(FIELDS[resource])
      .refine((body) => Object.keys(body).length > 0, {
        path: ['metadata'],
        message: 'is required, unless another field is given',
        params: { code: 'invalid_type' },
        when: ({ issues }) => issues.length === 0,
      })
      .meta({ minProperties: 1 }),
    handle: async (call) => {
      const id = requireId(resource, call.params.id ?? '');
      const isChanged = await updateAttached(call.sql, call.book, resource, id, call.body);
      const [current] = await READABLE[resource].read(call, [id]);
      if (current === undefined) throw notFound(resource, call.params.id ?? '');
      if (!isChanged) throw tooManyKeys();
      return current;
    },
  }),
);
