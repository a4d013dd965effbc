// `@jest/globals`, loaded again for each test file.
import { currentGlobals } from './runtime.ts';

export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } = currentGlobals();
