// The shape of a provider's response, for the report of a check: names and formats, without the values. So a report
// shows that a field was renamed, or that a time has another format, and has no secrets and no personal data.
import { safeMessage } from '../texts.ts';

/** Words that a documentation lists, by the name of their field. */
const WORDS = /(?:status|code|type|method|currency|successful)$/i;
/** What a provider says. */
const SENTENCES = /(?:message|description|reason|comment|error)$/i;
/** The life of a token. */
const NUMBERS = /^(?:expires_?in|number|size|total\w*|last|first)$/i;

const DEPTH_MAX = 8;
const FIELDS_MAX = 60;
const TEXT_MAX = 60;

/** The first item of a list stands for the others. */
export function shapeOf(value: unknown, name = '', depth = 0): unknown {
  if (value === undefined) return 'not JSON';
  if (value === null || typeof value === 'boolean') return value;
  if (depth >= DEPTH_MAX) return '…';
  if (Array.isArray(value)) {
    return value.length === 0 ? [] : [shapeOf(value[0], name, depth + 1), `${value.length} items`];
  }
  if (typeof value === 'object') {
    const fields = Object.entries(value).slice(0, FIELDS_MAX);
    return Object.fromEntries(fields.map(([key, of]) => [key.slice(0, TEXT_MAX), shapeOf(of, key, depth + 1)]));
  }
  return typeof value === 'string' ? textShape(value, name) : typeof value;
}

function textShape(text: string, name: string): string {
  if (NUMBERS.test(name) && /^[0-9]{1,9}$/.test(text)) return text;
  if (WORDS.test(name) && !/bank|account|contract/i.test(name) && /^[A-Za-z0-9_ ]{1,40}$/.test(text)) return text;
  if (SENTENCES.test(name)) return safeMessage(text)?.slice(0, 2 * TEXT_MAX) ?? '';
  const format = text
    .slice(0, TEXT_MAX)
    .replaceAll(/\p{Lu}/gu, 'A')
    .replaceAll(/\p{L}/gu, (one) => (one === 'A' ? one : 'a'));
  return format.replaceAll(/\p{N}/gu, '9').replaceAll(/[^\x20-\x7e]/g, '?');
}
