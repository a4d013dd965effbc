// Health (contract, section 4.3): 200 while money can be accepted, 503 when the database is gone. It answers within two
// seconds even when a dependency hangs rather than refuses.
import { readFileSync } from 'node:fs';
import { ApiError } from '../../errors.ts';
import { type Route, route } from '../route.ts';

const CHECK_TIMEOUT_MS = 1_500;

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** True when the check succeeds in time. */
async function succeeds(check: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), CHECK_TIMEOUT_MS);
  });
  const passed = check.then(
    (answer) => answer !== false,
    () => false,
  );
  try {
    return await Promise.race([passed, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

const health = route({
  method: 'get',
  path: '/health',
  access: 'none',
  handle: async ({ services, environment }) => {
    const [database, temporal] = await Promise.all([
      succeeds(services.sql`SELECT 1`.execute()),
      succeeds(services.temporalIsUp()),
    ]);
    if (!database) throw new ApiError('SERVICE_UNAVAILABLE', { service: 'database' });
    return {
      status: 200,
      data: {
        status: temporal ? 'ok' : 'degraded',
        version,
        environment,
        checks: {
          database: 'ok',
          temporal: temporal ? 'ok' : 'unreachable',
          rail: services.rails.of(environment)?.name ?? 'none',
        },
      },
    };
  },
});

export const healthRoutes: Route[] = [health];
