// HTTP load with autocannon: each connection has one request in flight, and every request is generated.
import autocannon from 'autocannon';
import type { Sample } from './measure.ts';

export interface LoadRequest {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export interface Load {
  url: string;
  connections: number;
  seconds: number;
  /** Requests a second over all connections; unlimited when omitted. */
  perSecond?: number;
  /** Generates the next request. */
  request: () => LoadRequest;
}

/** Above this share of failed requests a figure is not a throughput. */
const FAILED_SHARE_MAX = 0.01;

/** The number of failure reasons in the error message. */
const REASONS_MAX = 3;

/**
 * 2xx responses a second, and the latency in milliseconds. Throws when more than one request in a hundred got none: a
 * refusal is no throughput. Fewer are counted in the details: a machine at its limit times some requests out.
 */
export async function runLoad({ url, connections, seconds, perSecond, request }: Load): Promise<Sample> {
  const result = await autocannon({
    url: new URL(url).origin,
    connections,
    duration: seconds,
    ...(perSecond !== undefined && { overallRate: perSecond }),
    requests: [{ setupRequest: (made) => ({ ...made, ...request() }) }],
  });
  const good = result['2xx'];
  const failed = result.non2xx + result.errors;
  if (good === 0 || failed > FAILED_SHARE_MAX * (good + failed)) {
    const statuses = Object.entries(result.statusCodeStats ?? {})
      .filter(([status]) => !status.startsWith('2'))
      .map(([status, { count = 0 }]) => [status, count] as const);
    const reasons = [...statuses, ['no response', result.errors] as const]
      .filter(([, count]) => count > 0)
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, REASONS_MAX)
      .map(([reason, count]) => `${reason} (${count.toLocaleString('en')})`);
    throw new Error(
      `of ${(good + failed).toLocaleString('en')} requests ${failed.toLocaleString('en')} failed: ` +
        (reasons.join(', ') || 'none was answered in time'),
    );
  }
  return {
    value: good / result.duration,
    details: {
      'p50 ms': result.latency.p50,
      'p99 ms': result.latency.p99,
      'max ms': result.latency.max,
      ...(failed > 0 && { failed }),
    },
  };
}
