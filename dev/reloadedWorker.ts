// The worker of `npm run dev`: loads its modules while the workflows are built, which takes as long, and starts then.
import { existsSync } from 'node:fs';
import '../src/worker/worker.ts';

const POLL_MS = 10;

const { BUILD_MARK: mark } = process.env;
while (mark !== undefined && existsSync(mark)) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
await import('../src/worker/main.ts');
