// Calls to another ledger's API outside the measured load: making accounts, reading money.

/** Far longer than any call takes: a server that does not answer is told of. */
const ANSWER_WITHIN_MS = 30_000;
/** Calls under way at a time. */
const AT_ONCE = 16;

/** Makes a call and answers its JSON. Throws in one line when it fails: a URL may hold a password, so none is in it. */
export type Call = (
  method: 'GET' | 'POST',
  path: string,
  headers?: Record<string, string>,
  body?: object,
) => Promise<unknown>;

/** Calls to the server of a URL. Throws when it is none of HTTP. */
export function callAt(url: string): Call {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) throw new Error('its URL is not one of http:// or https://');
  const { origin } = new URL(url);
  return async (method, path, headers, body) => {
    let response: Response;
    let text: string;
    try {
      response = await fetch(origin + path, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      text = await response.text();
    } catch (error) {
      const { message, cause } = error as { message: string; cause?: { code?: string; message?: string } };
      throw new Error(`${method} ${path}: ${cause?.code ?? cause?.message ?? message}`);
    }
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text.slice(0, 300)}`);
    const answer = text === '' ? {} : parseAnswer(text);
    if (answer === undefined) throw new Error(`${method} ${path} was answered with something that is not JSON`);
    return answer;
  };
}

/** An answer's JSON object; undefined when it is none. */
export function parseAnswer(text: string): Record<string, unknown> | undefined {
  try {
    const answer: unknown = JSON.parse(text);
    return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Does the work for each number below `count`, a few at a time. The first failure ends it. */
export async function eachOf(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < count) {
      const number = next;
      next += 1;
      try {
        await work(number);
      } catch (error) {
        next = count;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
}
