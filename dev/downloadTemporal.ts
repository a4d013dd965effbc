// Downloads the Temporal CLI into a folder with the SDK's downloader, which selects the URL and the platform. The SDK
// downloads only when it starts a server, so this starts one and stops it. Runs as a separate process, which the caller
// can kill: `node downloadTemporal.ts <folder> <version>`.
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
