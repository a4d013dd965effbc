// Writes generated/openapi.json from the routes: `npm run generate -- openapi`. A test checks that it is up to date.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openApiDocument } from './openapi/document.ts';
import { readExamples } from './openapi/examples.ts';

const FILE = new URL('../generated/openapi.json', import.meta.url);

export const openApiText = (): string => `${JSON.stringify(openApiDocument(readExamples()), null, 2)}\n`;

export function writeOpenApi(): void {
  writeFileSync(FILE, openApiText());
  console.log(`wrote ${fileURLToPath(FILE)}`);
}
