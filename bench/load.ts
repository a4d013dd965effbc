// HTTP load: autocannon's connections, each with one request under way, and a new request made for every call.
import autocannon from 'autocannon';
import type { Sample } from './measure.ts';

export interface Load {
  url: string;
  connections: number;
  seconds: number;
  /** Requests a second over all connections; as many as are answered when left out. */
  perSecond?: number;
  /** Made anew for every call. */
  request: () => { method: 'GET' | 'POST'; path: string; headers: Record<string, string>; body?: string };
}

/** Above this share of other answers a figure is one of something else. */
const FAILED_SHARE_MAX = 0.01;

/**
 * Answers of 2xx a second, and the latency in milliseconds. Throws when more than one in a hundred was anything else:
 * a refusal is no throughput. Fewer are told in the details: a machine at its limit times some requests out.
 */
export async function runLoad({ url, connections, seconds, perSecond, request }: Load): Promise<Sample> {
  const result = await autocannon({
    url: new URL(url).origin,
    connections,
    duration: seconds,
    ...(perSecond !== undefined && { overallRate: perSecond }),
    requests: [{ setupRequest: (made) => ({ ...made, ...request() }) }],
  });
  const failed = result.non2xx + result.errors;
  if (failed > FAILED_SHARE_MAX * result.requests.total) {
    throw new Error(
      `${result.non2xx} answers were not 2xx and ${result.errors} failed, of ${result.requests.total}: ` +
        JSON.stringify(result.statusCodeStats),
    );
  }
  return {
    value: result['2xx'] / result.duration,
    details: {
      'p50 ms': result.latency.p50,
      'p99 ms': result.latency.p99,
      'max ms': result.latency.max,
      ...(failed > 0 && { failed }),
    },
  };
}
