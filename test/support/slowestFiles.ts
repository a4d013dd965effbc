// A reporter that prints the slowest test files of a whole run, with their seconds.

/** Of Jest's results. */
interface Results {
  testResults: { testFilePath: string; perfStats: { start: number; end: number } }[];
}

const SHOWN = 10;
/** Fewer files are not a whole run. */
const FILES_MIN = 50;

export default class SlowestFiles {
  onRunComplete(_contexts: unknown, { testResults }: Results): void {
    if (testResults.length < FILES_MIN) return;
    const files = testResults.map(({ testFilePath, perfStats }) => ({
      name: testFilePath.replace(/^.*\/test\//, ''),
      seconds: (perfStats.end - perfStats.start) / 1000,
    }));
    const slowest = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, SHOWN);
    const lines = slowest.map(({ name, seconds }) => `  ${seconds.toFixed(1).padStart(6)} s  ${name}`);
    console.error(['The slowest files:', ...lines].join('\n'));
  }
}
