// Writes what is made from the OpenAPI document: the generated parts of the clients, the Postman collection, llms.txt.
// `npm run generate -- clients`; `clients check` fails when one of them is not up to date.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ClientDocument, OPENAPI, readDocument } from './clients/document.ts';
import { llmsText } from './clients/llms.ts';
import { postmanCollection } from './clients/postman.ts';
import { pythonOperations } from './clients/python.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TYPESCRIPT = path.join(ROOT, 'clients', 'typescript');

/** The requests that take an Idempotency-Key, as patterns of their paths below any base address. */
function operationsOf({ operations, errorCodes }: ClientDocument): string {
  const patterns = operations
    .filter(({ isIdempotent }) => isIdempotent)
    .map((each) => `  /${each.path.replaceAll('/', '\\/').replaceAll(/\{[^}]+\}/g, '[^/]+')}$/,`);
  return [
    '// Generated from the OpenAPI document by `npm run generate -- clients`. Do not edit.',
    '',
    '/** The paths of the POST requests that take an Idempotency-Key. */',
    'export const IDEMPOTENT_POSTS: readonly RegExp[] = [',
    ...patterns,
    '];',
    '',
    '/** The codes of the errors of the API. */',
    'export type ApiErrorCode =',
    ...errorCodes.map((code, index) => `  | '${code}'${index === errorCodes.length - 1 ? ';' : ''}`),
    '',
  ].join('\n');
}

/** The generated files, by their paths, besides the types of the TypeScript client. */
export function generatedFiles(): Record<string, string> {
  const document = readDocument();
  return {
    'clients/typescript/src/operations.ts': operationsOf(document),
    'clients/python/manilla/operations.py': pythonOperations(document),
    'clients/postman/manilla.postman_collection.json': `${JSON.stringify(postmanCollection(document), null, 2)}\n`,
    'generated/llms.txt': llmsText(document),
  };
}

/** Runs openapi-typescript, which has packages of its own: it needs TypeScript 5. */
function typesOfTypeScript(check: boolean): void {
  const npm = (...words: string[]) => execFileSync('npm', words, { cwd: TYPESCRIPT, stdio: 'inherit' });
  const lock = (name: string): string => readFileSync(path.join(TYPESCRIPT, name), 'utf8');
  const installed = path.join('node_modules', '.installed');
  if (!existsSync(path.join(TYPESCRIPT, installed)) || lock(installed) !== lock('package-lock.json')) {
    npm('ci', '--loglevel=warn');
    writeFileSync(path.join(TYPESCRIPT, installed), lock('package-lock.json'));
  }
  // The client makes the key itself, so its types do not ask for one.
  const document = JSON.parse(readFileSync(OPENAPI, 'utf8'));
  document.components.parameters.IdempotencyKey.required = false;
  mkdirSync(path.join(ROOT, '.cache'), { recursive: true });
  writeFileSync(path.join(ROOT, '.cache', 'client-openapi.json'), JSON.stringify(document));
  npm('run', '--silent', 'types', ...(check ? ['--', '--check'] : []));
}

/** Writes all of them; or fails when one is not up to date. */
export function writeClients(check: boolean): void {
  for (const [file, content] of Object.entries(generatedFiles())) {
    const target = path.join(ROOT, file);
    if (check) {
      if (!existsSync(target) || readFileSync(target, 'utf8') !== content)
        throw new Error(`${file}: npm run generate -- clients`);
      continue;
    }
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, content);
    console.log(`wrote ${file}`);
  }
  typesOfTypeScript(check);
}
