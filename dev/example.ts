// `npm run example`: the example of the TypeScript client, against the running service.
import { findRunning } from './demo/integrator.ts';

try {
  const { sandboxBaseUrl, testApiKey } = findRunning();
  process.env.MANILLA_URL = sandboxBaseUrl;
  process.env.MANILLA_KEY = testApiKey;
  await import('../clients/typescript/example.ts');
} catch (error) {
  const { message, cause } = error as Error;
  console.error(`\nThe example failed: ${message}${cause instanceof Error ? ` (${cause.message})` : ''}`);
  // Its receiver of webhooks may be listening.
  process.exit(1);
}
