// API or worker of `npm run dev`, by its name as the argument. Where it is started ahead of a change, it loads the
// libraries, which take half of the start; its source when that has changed; and starts when the process before it has
// ended, each when it is told.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

const SOURCES: Record<string, string> = { api: '../src/api/server.ts', worker: '../src/worker/worker.ts' };

const [, , name = ''] = process.argv;
if (process.send !== undefined) {
  const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    dependencies: object;
  };
  await Promise.allSettled(Object.keys(dependencies).map((library) => import(library)));
  await once(process, 'message');
  await import(SOURCES[name] ?? '');
  await once(process, 'message');
  process.disconnect();
}
await import(`../src/${name}/main.ts`);
