// Runs once before all test files of `npm run test:citus`: the stack of `npm test`, with the cluster of CITUS_URL in
// place of a Postgres of its own.
import { startStack } from '../support/globalSetup.ts';
import { prepareCluster } from './cluster.ts';

export default async function globalSetup(): Promise<void> {
  const { CITUS_URL: url } = process.env;
  if (url === undefined || url === '') {
    throw new Error(
      'CITUS_URL is not set. Set it to the URL of a superuser at the coordinator of a Citus cluster for tests, such as ' +
        'that of deploy/citus/docker-compose.yml, and run `npm run test:citus` again. docs/citus.md has the rest.',
    );
  }
  await startStack(() => prepareCluster(url));
}
