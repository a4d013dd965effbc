// The building blocks of the public form of a resource: ids, amounts, times. A schema defines a response or event;
// the OpenAPI document (tools/generateOpenApi.ts) and the views are made from it. Nothing is checked against it at run
// time.
import { z } from 'zod';
import { ID_SUFFIXES, type IdKind, publicId } from '../ids.ts';
import { CURRENCY } from '../money.ts';

/** A field whose public value is made from a value of another type in the row. */
const converted = <Row extends z.ZodType, Public extends z.ZodType>(
  row: Row,
  field: Public,
  decode: (value: z.output<Row>) => z.input<Public>,
) =>
  z.codec(row, field, {
    decode,
    encode: () => {
      throw new Error('a row is not made from its public form');
    },
  });

const kindsOfIds = new WeakMap<object, IdKind>();

/** A public id of this kind; in a row a UUID. */
export function publicIdOf(kind: IdKind) {
  const field = z.string().regex(idPattern(ID_SUFFIXES[kind]));
  kindsOfIds.set(field, kind);
  return converted(z.string(), field, (id) => publicId(kind, id));
}

/** The kind of the resource whose public id a field of a schema is; undefined: it is no such field. */
export function kindOfId(field: z.ZodType): IdKind | undefined {
  if (field instanceof z.ZodNullable || field instanceof z.ZodOptional) return kindOfId(field.unwrap() as z.ZodType);
  return field instanceof z.ZodCodec ? kindsOfIds.get(field.def.out) : undefined;
}

/** A public id of any kind, also in the row. */
export const anyPublicId = z.string().regex(idPattern('[a-z]{3}'));

function idPattern(suffix: string): RegExp {
  return new RegExp(`^svc_[0-7][0-9a-hjkmnp-tv-z]{25}_${suffix}$`);
}

/** Kobo: a safe integer, never negative. */
export const kobo = z.number().int().min(0).describe('In kobo; 100 kobo are one naira');

/** The only currency, which no row has. */
export const currency = converted(z.undefined().optional(), z.literal(CURRENCY), () => CURRENCY);

export const time = converted(z.date(), z.iso.datetime().describe('ISO 8601, UTC, with milliseconds'), (at) =>
  at.toISOString(),
);

/** What the caller attached to a resource that moves money. A row without metadata has null. */
export const attached = {
  reference: z.string().nullable().describe('Your own reference, unique among the resources of this kind'),
  metadata: converted(
    z.record(z.string(), z.string()).nullable(),
    z.record(z.string(), z.string()).describe('Your own keys and values'),
    (pairs) => pairs ?? {},
  ),
};

/**
 * A function that makes the public form of a row: the fields of the schema, each from the field of the same name.
 * `prepare` adds those that the row has under another name, or not at all.
 */
export function viewOf<Schema extends z.ZodObject, Row = z.input<Schema>>(
  schema: Schema,
  prepare?: (row: Row) => z.input<Schema>,
): (row: Row) => z.output<Schema> {
  const convert = conversionOf(schema) as (row: unknown) => z.output<Schema>;
  return (row) => convert(prepare === undefined ? row : prepare(row));
}

type Conversion = (value: unknown) => unknown;

function conversionOf(schema: z.ZodType): Conversion {
  if (schema instanceof z.ZodCodec) return schema.def.transform as Conversion;
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    const convert = conversionOf(schema.unwrap() as z.ZodType);
    return (value) => (value === null || value === undefined ? value : convert(value));
  }
  if (schema instanceof z.ZodArray) {
    const convert = conversionOf(schema.element as z.ZodType);
    return (values) => (values as unknown[]).map((value) => convert(value));
  }
  if (!(schema instanceof z.ZodObject)) return (value) => value;
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>).map(
    ([name, field]) => [name, conversionOf(field)] as const,
  );
  return (row) => {
    const view: Record<string, unknown> = {};
    for (const [name, convert] of fields) view[name] = convert((row as Record<string, unknown>)[name]);
    return view;
  };
}
