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
  /** Returns why a response is not the expected one; undefined when it is. Default: every 2xx is expected. */
  judge?: (status: number, body: string) => string | undefined;
}

/** Above this share of failed requests the run is invalid. */
const FAILED_SHARE_MAX = 0.01;

/** The number of failure reasons in the error message. */
const REASONS_MAX = 3;

/**
 * Returns successful responses a second, and the latency in milliseconds. Throws when more than one request in a
 * hundred fails, because failures are not throughput. Fewer are reported in the details: a saturated machine times out
 * some requests.
 */
export async function runLoad({ url, connections, seconds, perSecond, request, judge }: Load): Promise<Sample> {
  const refused = new Map<string, number>();
  let refusedAs2xx = 0;
  const onResponse = (status: number, body: string): void => {
    const reason = judge?.(status, body);
    if (reason === undefined) return;
    refused.set(reason, (refused.get(reason) ?? 0) + 1);
    if (status >= 200 && status < 300) refusedAs2xx += 1;
  };
  const result = await autocannon({
    url: new URL(url).origin,
    connections,
    duration: seconds,
    ...(perSecond !== undefined && { overallRate: perSecond }),
    requests: [{ setupRequest: (made) => ({ ...made, ...request() }), ...(judge !== undefined && { onResponse }) }],
  });
  const good = result['2xx'] - refusedAs2xx;
  const failed = result.non2xx + result.errors + refusedAs2xx;
  if (good === 0 || failed > FAILED_SHARE_MAX * (good + failed)) {
    const statuses = Object.entries(result.statusCodeStats ?? {}).map(
      ([status, { count = 0 }]) => [status, count] as const,
    );
    const reasons = [...(judge === undefined ? statuses : refused), ['no response', result.errors] as const]
      .filter(([, count]) => count > 0)
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, REASONS_MAX)
      .map(([reason, count]) => `${reason} (${count.toLocaleString('en')})`);
    throw new Error(
      `of ${(good + failed).toLocaleString('en')} requests ${failed.toLocaleString('en')} failed: ` +
        (reasons.join(', ') || 'no response in time'),
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
