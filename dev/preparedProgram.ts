// API or worker of `npm run dev`, by its name as the argument. One that is started ahead of a change loads the
// libraries, which is half of a start, and waits: to load its source when that has changed, and to start when the
// process before it has ended.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { PreparedStep } from './supervisor.ts';

/** What the programs import, which starts nothing. */
const SOURCES: Record<string, string> = { api: '../src/api/server.ts', worker: '../src/worker/worker.ts' };

const nextStep = async (): Promise<PreparedStep> => ((await once(process, 'message')) as [PreparedStep])[0];

const [, , name = ''] = process.argv;
if (process.send !== undefined) {
  const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    dependencies: object;
  };
  await Promise.allSettled(Object.keys(dependencies).map((library) => import(library)));
  if ((await nextStep()) === 'load') {
    await import(SOURCES[name] ?? '');
    await nextStep();
  }
  process.disconnect();
}
await import(`../src/${name}/main.ts`);
