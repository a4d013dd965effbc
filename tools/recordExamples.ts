// `npm run generate -- examples`: runs the story of test/openapi/story.ts against the test stack, records its answers
// as the examples of the OpenAPI document, and writes the document with them.
import { recordExamples } from '../test/openapi/story.ts';
import { startTestFlows } from '../test/support/flows.ts';
import globalSetup from '../test/support/globalSetup.ts';
import globalTeardown from '../test/support/globalTeardown.ts';
import { SCENARIO_SETTINGS } from '../test/support/scenarios.ts';
import { writeOpenApi } from './generateOpenApi.ts';
import { writeExamples } from './openapi/examples.ts';

export async function writeRecordedExamples(): Promise<void> {
  await globalSetup();
  try {
    const flows = await startTestFlows({ settings: SCENARIO_SETTINGS });
    try {
      writeExamples(await recordExamples(flows));
    } finally {
      await flows.close();
    }
  } finally {
    await globalTeardown();
  }
  writeOpenApi();
}
