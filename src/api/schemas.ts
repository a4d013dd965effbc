// The building blocks of request schemas. Strict: no coercion, no text that Postgres cannot store.
import { z } from 'zod';
import { parseId, type Uuid } from '../ids.ts';
import { AMOUNT_MAX } from '../money.ts';
import { type Attached, METADATA_KEYS_MAX, type Metadata } from '../resources/references.ts';
import { ApiError, type FieldError, invalidField } from './errors.ts';

/**
 * A string of `min` to `max` characters that programs read, stored as it is. NUL and lone surrogates are rejected,
 * because Postgres cannot store them.
 */
const data = (max: number, min = 1) =>
  z
    .string()
    .min(min)
    .max(max)
    .regex(/^[^\0]*$/u, 'must not contain a NUL character')
    .refine((value) => value.isWellFormed(), 'must be well-formed Unicode');

/** NFC sorts the marks of a character in the square of their number. Thirty are enough (Unicode UAX 15, section 13). */
const MANY_MARKS = /(?:^|\P{M})\p{M}{31}/u;
/** NFC leaves at least an eighth of a text. What is too long all the same is refused before it is looked at. */
const NFC_SHRINKS_MAX = 8;

const readable = (max: number, hidden: RegExp, message: string) =>
  z
    .string()
    .trim()
    .check(({ value, issues }) => {
      if (value.length <= NFC_SHRINKS_MAX * max) return;
      issues.push({ code: 'too_big', origin: 'string', maximum: max, inclusive: true, input: value, continue: false });
    })
    .refine((value) => !MANY_MARKS.test(value), {
      message: 'must not have more than 30 combining marks in a row',
      params: { code: 'invalid_string' },
      abort: true,
    })
    .normalize('NFC')
    .min(1)
    .max(max)
    .refine((value) => value.isWellFormed(), 'must be well-formed Unicode')
    .refine((value) => !hidden.test(value), { message, params: { code: 'invalid_string' } });

/** A text that people read, of 1 to `max` characters without the spaces around it, of any number of lines. */
export const text = (max: number) =>
  readable(max, /(?![\t\n\r])[\p{Cc}\p{Bidi_Control}]/u, 'must not contain control or bidirectional characters');

/** The same on one line, such as a name. */
export const line = (max: number) =>
  readable(
    max,
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u,
    'must not contain line breaks, control or bidirectional characters',
  );

/** An optional field. `null` is the same as leaving it out: many generated clients send every field. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

/** An optional field with a default. */
export const optionalOr = <Schema extends z.ZodType>(schema: Schema, fallback: z.output<Schema>) =>
  schema.nullish().transform((value) => value ?? fallback);

/** An optional field that is null in a row that has none. */
export const optionalOrNull = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? null);

/** Too many keys of metadata, as an error of its field. */
const TOO_MANY_KEYS = {
  code: 'too_big',
  message: `must have at most ${METADATA_KEYS_MAX} keys`,
  constraint: { maximum: METADATA_KEYS_MAX },
};
export const tooManyKeys = (): ApiError => invalidField({ field: 'metadata', ...TOO_MANY_KEYS });

/** Their number is checked first. JSON can name the key `__proto__`, which an object cannot hold like any other. */
const pairsOf = <Value extends z.ZodType>(value: Value) =>
  z.preprocess(
    (input, { issues }) => {
      if (!z.util.isObject(input)) return input;
      if (Object.hasOwn(input, '__proto__')) issues.push({ code: 'unrecognized_keys', keys: ['__proto__'], input });
      if (Object.keys(input).length > METADATA_KEYS_MAX) {
        issues.push({ code: 'custom', message: TOO_MANY_KEYS.message, params: TOO_MANY_KEYS, input });
      }
      return input;
    },
    z.record(data(40), value).meta({ maxProperties: METADATA_KEYS_MAX }),
  );

const metadata = pairsOf(data(500));

/** Changes by key: null or an empty text removes one. Null in place of them removes all. */
export const metadataChanges = pairsOf(
  data(500, 0)
    .nullable()
    .transform((value) => value || null),
)
  .nullish()
  .describe('Merged by key: `null` or an empty text removes a key, and `null` in place of the object removes all');

/** An absolute address for people or programs on the web. */
export const webUrl = data(2048).refine((value) => /^https?:\/\/\S+$/i.test(value) && URL.canParse(value), {
  message: 'must be an absolute http or https URL',
  params: { code: 'invalid_string', constraint: { format: 'url' } },
  when: ({ issues }) => issues.length === 0, // report one error per string
});

export const reference = line(100);

/** What a caller may attach to a new resource that moves money. */
export const attachedFields = { reference: optional(reference), metadata: optional(metadata) };

/** The filters of lists by them. */
export const attachedFilters = {
  reference: reference.optional(),
  metadata: metadata.describe('`metadata[key]=value`, once or more: has all of these pairs').optional(),
};

/** The same in the form of a row. */
export function attachedOf(body: { reference?: string | undefined; metadata?: Metadata | undefined }): Attached {
  const pairs = body.metadata ?? {};
  return { reference: body.reference ?? null, metadata: Object.keys(pairs).length === 0 ? null : pairs };
}

/** A positive integer of kobo. Strings and fractions are rejected, never converted or rounded. */
const WHOLE_KOBO = 'must be a whole number of kobo';
export const amount = z
  .number(WHOLE_KOBO)
  .int(WHOLE_KOBO)
  .min(1, 'must be at least 1')
  .max(AMOUNT_MAX, `must be at most ${AMOUNT_MAX}`);

/** An id in a body. Its format is not checked here: a malformed id is reported as 404, like an unknown one. */
export const id = data(64);

/** A wallet id as a list filter. An unknown wallet gives an empty page, as does a wallet of another organisation. */
export const walletIdFilter = idFilter('wallet');

export function idFilter(kind: 'wallet' | 'payment') {
  return z.string().transform((value, context): Uuid => {
    const uuid = parseId(kind, value);
    if (uuid !== null) return uuid;
    const message = `must be a ${kind} id`;
    context.issues.push({ code: 'invalid_format', format: `${kind}_id`, input: value, message });
    return z.NEVER;
  });
}

export const publicIdFilter = z.string().regex(/^svc_[0-7][0-9a-z]{25}_[a-z]{3}$/, 'must be the id of a resource');

export const bankAccountNumber = z.string().regex(/^[0-9]{10}$/, 'must be exactly 10 digits');
export const bankCode = z.string().regex(/^[0-9]{3,6}$/, 'must be a bank code of 3 to 6 digits');

/** A bank account, with the name that the caller expects. */
export const bankAccount = z.strictObject({
  accountNumber: bankAccountNumber,
  bankCode,
  accountName: optional(line(200)),
});

/** The years that four digits can express; Postgres can store all of them. */
const TIME_MIN = Date.parse('0001-01-01T00:00:00.000Z');
const TIME_MAX = Date.parse('9999-12-31T23:59:59.999Z');

const TIMESTAMP_MESSAGE =
  'must be a date and time with an offset (RFC 3339), such as 2026-01-31T09:00:00Z or 2026-01-31T10:00:00%2B01:00 ' +
  '(in a URL, encode + as %2B)';

/** A timestamp in a query, with any offset, within the years 0001 to 9999 in UTC. */
export const timestamp = z.iso
  .datetime({ offset: true, error: TIMESTAMP_MESSAGE })
  .transform((value, context): Date => {
    const at = new Date(value);
    if (at.getTime() >= TIME_MIN && at.getTime() <= TIME_MAX) return at;
    context.issues.push({
      code: 'invalid_format',
      format: 'datetime',
      input: value,
      message: 'must be within the years 0001 to 9999 in UTC',
    });
    return z.NEVER;
  });

/** The filters that all lists of resources share. */
export const createdFilters = {
  createdAtFrom: timestamp.describe('The beginning of a period: created at this time or later').optional(),
  createdAtTo: timestamp.describe('The end of a period: created before this time').optional(),
};

/** The query of a route that takes no parameters. */
export const noQuery = z.strictObject({});

/** A body can have a hundred thousand unknown fields: no caller reads so many errors, and each is logged. */
const FIELD_ERRORS_MAX = 1_000;

/** Parses a value by a schema. Throws VALIDATION_FAILED with the invalid fields, up to FIELD_ERRORS_MAX. */
export function parse<Output>(schema: z.ZodType<Output>, value: unknown): Output {
  if (z.util.isObject(value) && Object.hasOwn(value, '__proto__')) throw invalidField(unrecognised('__proto__'));
  const parsed = schema.safeParse(value, { error: messageOf });
  if (!parsed.success) throw new ApiError('VALIDATION_FAILED', { fields: fieldErrors(parsed.error) });
  return parsed.data;
}

const unrecognised = (key: string, path: readonly string[] = []): FieldError => ({
  field: [...path, key].join('.'),
  code: 'unrecognized_keys',
  message: `${key} is not a field or parameter of this request; remove it or correct its spelling`,
});

/** What is wrong with a field, where its schema does not say it; undefined: in the words of zod. */
function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return issue.expected === 'int' ? 'must be a whole number' : `must be of the type ${issue.expected}`;
    case 'too_small':
      return `must ${MEASURES[issue.origin] ?? 'be'} at least ${issue.minimum}${UNITS[issue.origin] ?? ''}`;
    case 'too_big':
      return `must ${MEASURES[issue.origin] ?? 'be'} at most ${issue.maximum}${UNITS[issue.origin] ?? ''}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
    case 'invalid_format':
      return issue.format === 'email' ? 'must be an e-mail address' : undefined;
    default:
      return undefined;
  }
}

const MEASURES: Readonly<Record<string, string>> = { string: 'have', array: 'have' };
const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' items' };

/** Maps zod's issues to the contract's field errors: dotted path, code, message and violated constraint. */
function fieldErrors(error: z.ZodError): FieldError[] {
  const fields = error.issues.slice(0, FIELD_ERRORS_MAX).flatMap((issue): FieldError[] => {
    const path = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.slice(0, FIELD_ERRORS_MAX).map((key) => unrecognised(key, path));
    }
    // A custom rule has its code and constraint in `params`. The contract keeps the name `invalid_string` of zod 3.
    const { code, constraint }: Pick<FieldError, 'code' | 'constraint'> =
      issue.code === 'custom' && issue.params !== undefined
        ? (issue.params as { code: string })
        : { code: issue.code === 'invalid_format' ? 'invalid_string' : issue.code, constraint: constraintOf(issue) };
    return [{ field: path.join('.'), code, message: issue.message, ...(constraint && { constraint }) }];
  });
  return fields.slice(0, FIELD_ERRORS_MAX);
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
      return { format: issue.format, ...(issue.format === 'regex' && { pattern: sourceOf(issue.pattern) }) };
    default:
      return undefined;
  }
}

/** zod gives a pattern as `/…/flags`; JSON Schema and other tools expect only the part between the slashes. */
const sourceOf = (pattern: string | undefined): string | undefined => pattern?.replace(/^\/|\/[a-z]*$/g, '');
