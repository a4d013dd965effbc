// The ways in which a response of the Monnify fake goes wrong. Whether it acted is chosen apart from that.
import type { ServerResponse } from 'node:http';

export const FAULTS = [
  'hang',
  'reset',
  'reset_in_body',
  'html_502',
  'spring_403',
  'code_99',
  'rate_limited',
  'redirect',
  'too_large',
  'not_utf8',
  'trickle',
  'empty_body',
  'null_body',
  'expired_token',
] as const;
export type Fault = (typeof FAULTS)[number];

/** Faults that are an explicit refusal: the real one would not have acted. */
export const REFUSALS: ReadonlySet<Fault> = new Set(['spring_403', 'rate_limited', 'expired_token']);

const envelope = (responseCode: string, responseMessage: string, responseBody?: unknown): string =>
  JSON.stringify({ requestSuccessful: false, responseMessage, responseCode, responseBody });

/** Answers with a fault instead of `body`, the response that would have been sent. `credentials`: as given. */
export function answerWith(fault: Fault, response: ServerResponse, body: string, credentials: string): void {
  const json = (status: number, text: string, headers: Record<string, string> = {}): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  };
  switch (fault) {
    case 'hang':
      return; // the connection ends with the server
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'reset_in_body':
      response.writeHead(200, { 'content-length': String(body.length + 100) });
      response.write(body.slice(0, body.length / 2), () => response.socket?.resetAndDestroy());
      return;
    case 'html_502':
      response.writeHead(502, { 'content-type': 'text/html' });
      response.end('<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>');
      return;
    case 'spring_403':
      json(403, '{"timestamp":"2026-06-27T08:32:49.000+00:00","status":403,"error":"Forbidden","path":"/api"}');
      return;
    case 'code_99':
      json(
        400,
        envelope('99', `An unexpected error occurred, BVN 22222222226, client MK_TEST_4KFAKE0KEY ${credentials}`),
      );
      return;
    case 'rate_limited':
      json(429, envelope('99', 'Too many requests'), { 'retry-after': '7' });
      return;
    case 'redirect':
      response.writeHead(302, { location: '/api/v1/elsewhere' }).end();
      return;
    case 'too_large':
      json(200, `{"requestSuccessful":true,"x":"${'x'.repeat(10 * 1024 * 1024)}"}`);
      return;
    case 'not_utf8':
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(Buffer.concat([Buffer.from('{"responseMessage":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]));
      return;
    case 'trickle':
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{');
      return;
    case 'empty_body':
      json(200, '');
      return;
    case 'null_body':
      json(200, '{"requestSuccessful":true,"responseMessage":"success","responseCode":0,"responseBody":null}');
      return;
    case 'expired_token':
      json(401, '{"error":"invalid_token","error_description":"Access token expired"}');
      return;
  }
}
