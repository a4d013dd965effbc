// Reads the response of a metrics port: the Prometheus text format, as far as the service writes it.
import { waitFor } from '../support/waitFor.ts';

export interface Sample {
  /** With the suffix `_bucket`, `_sum` or `_count` where it belongs to a histogram. */
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Exposition {
  /** Metric types by name. */
  types: Map<string, string>;
  samples: Sample[];
  /** The sum over the samples of this name with at least these labels; null when there is none. */
  value: (name: string, labels?: Record<string, string>) => number | null;
}

export async function scrape(port: number): Promise<Exposition> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  if (response.status !== 200) throw new Error(`the metrics port answered ${response.status}`);
  return readExposition(await response.text());
}

/** The first scrape that read every source: on a busy machine one may respond late, and its gauges are absent. */
export const scrapeWhole = (port: number): Promise<Exposition> =>
  waitFor('a scrape that reads every source', async () => {
    const scraped = await scrape(port);
    const sources = scraped.samples.filter(({ name }) => name === 'manilla_gauge_source_up');
    return sources.every(({ value }) => value === 1) ? scraped : null;
  });

function readExposition(text: string): Exposition {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  const lines = text.matchAll(/^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/gm);
  const samples = [...lines].map(([, name = '', labels = '', value]) => ({
    name,
    labels: Object.fromEntries(
      [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, labelValue]) => [label, labelValue]),
    ),
    value: Number(value),
  }));
  return {
    types,
    samples,
    value: (name, labels = {}) => {
      const found = samples.filter(
        (sample) =>
          sample.name === name &&
          Object.entries(labels).every(([label, labelValue]) => sample.labels[label] === labelValue),
      );
      return found.length === 0 ? null : found.reduce((sum, sample) => sum + sample.value, 0);
    },
  };
}
