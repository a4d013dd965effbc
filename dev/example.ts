// `npm run example`: the example of the TypeScript client, against the running service. `npm run example --
// marketplace`: an order of a marketplace.
import { answerVersion } from '../src/release.ts';
import { findRunning } from './demo/integrator.ts';

answerVersion();
try {
  const { sandboxBaseUrl, testApiKey } = findRunning();
  process.env.MANILLA_URL = sandboxBaseUrl;
  process.env.MANILLA_KEY = testApiKey;
  const name = process.argv[2] ?? 'example';
  if (name !== 'example' && name !== 'marketplace') throw new Error('the example is marketplace, or without a name');
  await (name === 'example'
    ? import('../clients/typescript/example.ts')
    : import('../clients/typescript/marketplace.ts'));
} catch (error) {
  const { message, cause } = error as Error;
  console.error(`\nThe example failed: ${message}${cause instanceof Error ? ` (${cause.message})` : ''}`);
  // Its receiver of webhooks may be listening.
  process.exit(1);
}
