// HTTP by hand, for what no client would send: the bytes go out as they are, and the answer is read as it comes.
import { connect } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** Sends these bytes and reads the first answer. The connection is ended when the answer is whole, or by the server. */
export function sendRaw(baseUrl: string, bytes: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const hasBody = !bytes.toString().startsWith('HEAD ');
    let received = '';
    const finish = (): void => {
      const answer = parse(received, hasBody);
      if (answer === null) return;
      socket.destroy();
      resolve(answer);
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

/** The answer, once all of it is there. One to HEAD tells the length of a body that does not come. */
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
