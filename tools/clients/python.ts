// The generated part of the Python client: a typed dictionary for each schema, a method for each operation.
import type { ClientDocument, Json, Operation } from './document.ts';

const snake = (name: string): string => name.replaceAll(/([A-Z])/g, (letter) => `_${letter.toLowerCase()}`);
const capitalised = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

interface Schema extends Json {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  oneOf?: Schema[];
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};

/** Writes types; a nested object gets a class of its own, named after the place where it is. */
class TypeWriter {
  readonly classes: string[] = [];

  typeOf(schema: Schema, name: string): string {
    if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? '';
    if (schema.oneOf !== undefined) return schema.oneOf.map((each) => this.typeOf(each, name)).join(' | ');
    if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`;
    if (schema.enum !== undefined) return `Literal[${schema.enum.map(literal).join(', ')}]`;
    const types = [schema.type ?? 'object'].flat();
    return types.map((type) => this.#single(type, schema, name)).join(' | ');
  }

  #single(type: string, schema: Schema, name: string): string {
    if (type === 'array') return `list[${this.typeOf(schema.items ?? {}, `${name}Item`)}]`;
    if (type !== 'object') return SCALARS[type] ?? 'Any';
    if (schema.properties === undefined) return 'dict[str, Any]';
    this.write(name, schema);
    return name;
  }

  write(name: string, schema: Schema): void {
    const fields = Object.entries(schema.properties ?? {}).map(([field, property]): [string, string] => {
      const type = this.typeOf(property, `${name}${capitalised(field)}`);
      return [field, schema.required?.includes(field) === true ? type : `NotRequired[${type}]`];
    });
    this.classes.push(
      fields.some(([field]) => KEYWORDS.includes(field)) ? typedDict(name, fields) : typedClass(name, fields),
    );
  }
}

/** Of Python, among the names of fields: no class can have a field of this name. */
const KEYWORDS: readonly string[] = ['from'];

const typedClass = (name: string, fields: readonly [string, string][]): string =>
  `class ${name}(TypedDict):\n${fields.length === 0 ? '    pass' : fields.map(([field, type]) => `    ${field}: ${type}`).join('\n')}`;

/** The types are texts, which are not evaluated when the module is loaded. */
const typedDict = (name: string, fields: readonly [string, string][]): string =>
  `${name} = TypedDict("${name}", {\n${fields.map(([field, type]) => `    "${field}": ${JSON.stringify(type)},`).join('\n')}\n})`;

function literal(value: unknown): string {
  if (value === null) return 'None';
  return typeof value === 'boolean' ? capitalised(String(value)) : JSON.stringify(value);
}

const HEAD = `"""Generated from the OpenAPI document by \`npm run generate -- clients\`. Do not edit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict
from urllib.parse import quote

if TYPE_CHECKING:
    from typing_extensions import NotRequired  # of Python 3.11`;

const OPERATIONS = `class Operations:
    """A method for each operation; client.py sends the requests."""

    def _data(self, method: str, path: str, **options: Any) -> Any:
        raise NotImplementedError

    def _items(self, path: str, query: dict[str, Any]) -> Iterator[Any]:
        raise NotImplementedError`;

export function pythonOperations({ schemas, operations }: ClientDocument): string {
  const writer = new TypeWriter();
  const unions: string[] = [];
  for (const [name, schema] of Object.entries(schemas)) {
    if ((schema as Schema).oneOf === undefined) writer.write(name, schema);
    else unions.push(`${name}: TypeAlias = ${JSON.stringify(writer.typeOf(schema, name))}`);
  }
  const methods = operations.map((operation) => methodOf(operation, writer));
  const parts = [HEAD, ...writer.classes, unions.join('\n'), OPERATIONS];
  return `${parts.join('\n\n\n')}\n\n${methods.join('\n\n')}\n`;
}

function methodOf(operation: Operation, writer: TypeWriter): string {
  const { operationId, body, isIdempotent, isPaginated } = operation;
  const data = (operation.response.properties as Record<string, Schema>).data ?? {};
  const result = writer.typeOf(isPaginated ? (data.items ?? {}) : data, `${capitalised(operationId)}Data`);
  const query = operation.queryParameters.filter(({ name }) => name !== 'cursor');
  const parameters = ['self', ...operation.pathParameters.map((name) => `${snake(name)}: str`)];
  if (body !== null) {
    const type = writer.typeOf(body.schema, `${capitalised(operationId)}Body`);
    parameters.push(body.required ? `body: ${type}` : `body: ${type} | None = None`);
  }
  const named = query.map(({ name, required, schema }) => {
    const isTime = schema.format === 'date-time';
    const type = `${writer.typeOf(schema, capitalised(name))}${isTime ? ' | datetime' : ''}`;
    return required ? `${snake(name)}: ${type}` : `${snake(name)}: ${type} | None = None`;
  });
  if (isIdempotent) named.push('idempotency_key: str | None = None');
  if (named.length > 0) parameters.push('*', ...named);
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => `{quote(${snake(name)}, safe='')}`);
  const place = `${operation.pathParameters.length === 0 ? '' : 'f'}"${path}"`;
  const queryText = `{${query.map(({ name }) => `"${name}": ${snake(name)}`).join(', ')}}`;
  const options = [
    ...(query.length > 0 ? [`query=${queryText}`] : []),
    ...(body === null ? [] : ['body=body']),
    ...(isIdempotent ? ['idempotent=True', 'idempotency_key=idempotency_key'] : []),
  ];
  const call = isPaginated
    ? `self._items(${place}, ${queryText})`
    : `self._data(${[`"${operation.method.toUpperCase()}"`, place, ...options].join(', ')})`;
  return [
    `    def ${snake(operationId)}(`,
    ...parameters.map((parameter) => `        ${parameter},`),
    `    ) -> ${isPaginated ? `Iterator[${result}]` : result}:`,
    `        """${operation.summary}."""`,
    `        return ${call}`,
  ].join('\n');
}
