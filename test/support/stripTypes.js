// Jest transform: strips types as Node does at run time, by replacing them with blanks. The tests run the same code as
// the service, with the same lines and columns and without source maps.
import { stripTypeScriptTypes } from 'node:module';

export default { process: (/** @type {string} */ text) => ({ code: stripTypeScriptTypes(text) }) };
