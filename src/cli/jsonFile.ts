// Settings that operators give in a JSON file.
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { CommandError, EXIT } from './failure.ts';

/** What a file has, by its schema. Throws a CommandError that names each wrong field. */
export function readJsonFile<Schema extends z.ZodType>(file: string, schema: Schema): z.output<Schema> {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CommandError(`${file} cannot be read as JSON: ${(error as Error).message}`, EXIT.usage);
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw fieldsRefused(parsed.error.issues.map(({ path, code, message }) => ({ field: path.join('.'), code, message })));
}

/** Says which fields of settings are wrong. Nothing was set. */
export function fieldsRefused(problems: readonly { field: string; code: string; message: string }[]): CommandError {
  const texts = problems.map(({ field, code, message }) => `${field} ${message} (${code})`);
  return new CommandError(`Nothing was set: ${texts.join('; ')}.`, EXIT.usage);
}
