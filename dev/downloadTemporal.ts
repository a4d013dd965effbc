// Downloads the Temporal CLI into a folder with the SDK's own downloader, which knows where it is and for which system.
// The SDK downloads only on the way to starting a server, so one is started and stopped. A process of its own:
// `node downloadTemporal.ts <folder> <version>`.
import { TestWorkflowEnvironment } from '@temporalio/testing';

const [downloadDir, version] = process.argv.slice(2);
if (downloadDir === undefined || version === undefined)
  throw new Error('usage: downloadTemporal.ts <folder> <version>');

try {
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir, version }, ui: false },
  });
  await environment.teardown();
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
