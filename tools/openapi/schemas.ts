// From zod schemas to the schemas of an OpenAPI 3.1 document, by zod's own JSON Schema. A schema with an `id` becomes a
// component.
import { z } from 'zod';

export type JsonSchema = { [key: string]: unknown };

const COMPONENTS = '#/components/schemas/';

/** Converts schemas, and collects the components that they refer to. */
export class SchemaWriter {
  readonly components = new Map<string, JsonSchema>();

  /** The schema of a response: objects are open, because fields may be added at any time (contract, section 9). */
  output(schema: z.ZodType): JsonSchema {
    return this.#convert(schema, 'output');
  }

  /** The schema of a request body or of query parameters. */
  input(schema: z.ZodType): JsonSchema {
    return this.#convert(schema, 'input');
  }

  #convert(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const { $schema: _dialect, $defs = {}, ...converted } = z.toJSONSchema(schema, { io, target: 'draft-2020-12' });
    for (const [name, { id: _id, ...component }] of Object.entries($defs)) {
      this.components.set(name, simplified(component, io) as JsonSchema);
    }
    return simplified(converted, io) as JsonSchema;
  }
}

/** zod's JSON Schema in the form of the document, from the inside to the outside. */
function simplified(value: unknown, io: 'input' | 'output'): unknown {
  if (Array.isArray(value)) return value.map((each) => simplified(each, io));
  if (typeof value !== 'object' || value === null) return value;
  const node: JsonSchema = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, simplified(part, io)]));
  const own = typeof node.description === 'string' ? { description: node.description } : {};
  // zod gives a literal number the type number; for a whole one, generators make a fraction of it.
  if (node.type === 'number' && Number.isInteger(node.const)) node.type = 'integer';
  // References to components instead of zod's definitions.
  if (typeof node.$ref === 'string') node.$ref = node.$ref.replace('#/$defs/', COMPONENTS);
  if (io === 'output' && node.additionalProperties === false) delete node.additionalProperties;
  // zod adds the patterns of these formats, hundreds of characters long.
  if (node.format === 'date-time' || node.format === 'date' || node.format === 'email') delete node.pattern;
  // `\0` is no escape in the regular expressions of other languages.
  if (typeof node.pattern === 'string') node.pattern = node.pattern.replace('\\0', '\\u0000');
  // The bounds of every integer in JavaScript.
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
  // `null` as a second type, where the schema is of one type.
  const [first, second] = (node.anyOf as JsonSchema[] | undefined) ?? [];
  if (typeof first?.type === 'string' && second?.type === 'null') {
    delete node.anyOf;
    const { enum: values } = first as { enum?: unknown[] };
    Object.assign(node, first, own, { type: [first.type, 'null'], ...(values && { enum: [...values, null] }) });
  }
  return node;
}
