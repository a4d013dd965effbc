// The failure converter of encrypted flows: messages and stacks of errors are payloads, so the codec encrypts them too.
// Bundled with the workflows, and loaded by path by the SDK.
import { DefaultFailureConverter } from '@temporalio/common';

export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
