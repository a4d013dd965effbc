// Raw HTTP over a socket, for requests that no client library sends: writes the given bytes and parses the response.
import { connect } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** Sends these bytes and reads the first response. Closes the connection when the response is complete. */
export function sendRaw(baseUrl: string, bytes: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const hasBody = !bytes.toString().startsWith('HEAD ');
    let received = '';
    const finish = (): void => {
      const response = parse(received, hasBody);
      if (response === null) return;
      socket.destroy();
      resolve(response);
    };
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      finish();
    });
    socket.on('error', reject);
    socket.on('close', () =>
      reject(new Error(`the connection ended after: ${JSON.stringify(received.slice(0, 500))}`)),
    );
  });
}

/** Returns the response once it is complete, else null. A response to HEAD has a content-length but no body. */
function parse(received: string, hasBody: boolean): RawAnswer | null {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [statusLine = '', ...lines] = received.slice(0, end).split('\r\n');
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
  const text = received.slice(end + 4);
  if (hasBody && text.length < Number(headers.get('content-length') ?? 0)) return null;
  return { status: Number(statusLine.split(' ')[1]), headers, text };
}
