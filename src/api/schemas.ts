// The building blocks of request contracts. Everything is strict: no unknown keys, no coercion of amounts, and no text
// that Postgres cannot store.
import { z } from 'zod';
import type { FieldError } from '../errors.ts';
import { parseId, type Uuid } from '../ids.ts';
import { AMOUNT_MAX } from '../money.ts';

/** A text of 1 to `max` characters without NUL and without broken surrogates, neither of which Postgres can store. */
export const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\0]*$/u, 'must not contain a NUL character')
    .refine((value) => value.isWellFormed(), 'must be well-formed Unicode');

/** A whole, positive number of kobo. Strings and fractions are refused, never rounded. */
export const amount = z.number().int().min(1).max(AMOUNT_MAX);

/** An id in a body. Its form is not checked here: a malformed id is one that does not exist (404). */
export const id = text(64);

/** A wallet to filter a list by. One that is not there owns nothing: the same empty page as for a stranger's. */
export const walletIdFilter = text(64).transform((walletId) => parseId('wallet', walletId) ?? NO_UUID);
const NO_UUID: Uuid = '00000000-0000-0000-0000-000000000000';

export const bankAccountNumber = z.string().regex(/^[0-9]{10}$/, 'must be exactly 10 digits');
export const bankCode = z.string().regex(/^[0-9]{3,6}$/, 'must be a bank code of 3 to 6 digits');

/** A calendar date that exists, `YYYY-MM-DD`. */
export const calendarDate = z.iso.date();

const timestamp = z.iso.datetime({ offset: true }).transform((value) => new Date(value));

/**
 * Query parameters that every list takes (contract, section 4.10). An unusable limit falls back to the default, and an
 * unusable cursor is INVALID_CURSOR, also when one is given twice: that makes a list of it, which is neither.
 */
export const listQuery = {
  limit: z.string().optional().catch(undefined),
  cursor: z.string().optional().catch(''),
  createdAtFrom: timestamp.optional(),
  createdAtTo: timestamp.optional(),
};

/** zod's issues as the contract's field errors: a dotted path, the reason, and the bound that was missed. */
export function fieldErrors(error: z.ZodError): FieldError[] {
  return error.issues.flatMap((issue): FieldError[] => {
    const path = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        field: [...path, key].join('.'),
        code: issue.code,
        message: `${key} is not a field of this request`,
      }));
    }
    // zod 4 renamed this reason; the contract keeps the older name.
    const code = issue.code === 'invalid_format' ? 'invalid_string' : issue.code;
    const constraint = constraintOf(issue);
    return [{ field: path.join('.'), code, message: issue.message, ...(constraint && { constraint }) }];
  });
}

function constraintOf(issue: z.core.$ZodIssue): Record<string, unknown> | undefined {
  switch (issue.code) {
    case 'too_small':
      return { minimum: Number(issue.minimum) };
    case 'too_big':
      return { maximum: Number(issue.maximum) };
    case 'invalid_type':
      return { expected: issue.expected };
    case 'invalid_value':
      return { values: issue.values };
    case 'invalid_format':
      return { format: issue.format };
    default:
      return undefined;
  }
}
