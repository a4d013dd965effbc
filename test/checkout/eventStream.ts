// A reader of Server-Sent Events that keeps everything that it received.
import { type IncomingHttpHeaders, request } from 'node:http';

export interface EventStream {
  status: number;
  headers: IncomingHttpHeaders;
  /** So far. */
  text: () => string;
  /** The versions of the `change` events so far. */
  changes: () => number[];
  /** Resolves when the server has ended the response. */
  ended: Promise<void>;
  close: () => void;
}

/** Resolves with the head of the response; the rest is read as it comes. */
export function openStream(url: string, headers: Record<string, string> = {}): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      const ended = new Promise<void>((end) => {
        response.once('close', end);
      });
      response.on('error', () => {}); // closed by this side
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: () => text,
        changes: () => [...text.matchAll(/^event: change\ndata: (\d+)\n\n/gm)].map(([, version]) => Number(version)),
        ended,
        close: () => sent.destroy(),
      });
    });
    sent.once('error', reject);
    sent.end();
  });
}
