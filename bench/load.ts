// HTTP load: autocannon's connections, each with one request under way, and a new request made for every call.
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
  /** Requests a second over all connections; as many as are answered when left out. */
  perSecond?: number;
  /** Made anew for every call. */
  request: () => LoadRequest;
  /** Why an answer is not the one that was asked for, in a few words. When left out, every 2xx is. */
  judge?: (status: number, body: string) => string | undefined;
}

/** Above this share of other answers a figure is one of something else. */
const FAILED_SHARE_MAX = 0.01;

/** How many reasons a failure names. */
const REASONS_MAX = 3;

/**
 * Good answers a second, and the latency in milliseconds. Throws when more than one request in a hundred had no good
 * answer: a refusal is no throughput. Fewer are told in the details: a machine at its limit times some requests out.
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
    const reasons = [...(judge === undefined ? statuses : refused), ['no answer', result.errors] as const]
      .filter(([, count]) => count > 0)
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, REASONS_MAX)
      .map(([reason, count]) => `${reason} (${count.toLocaleString('en')})`);
    throw new Error(
      `of ${(good + failed).toLocaleString('en')} requests ${failed.toLocaleString('en')} had no good answer: ` +
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
