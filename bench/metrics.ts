// Reads the metrics that a process of the service serves.

export const RESIDENT_MEMORY = 'manilla_process_resident_memory_bytes';

/** Metrics in bytes, as megabytes, from one scrape of a process. Throws if the process does not serve one of them. */
export async function readMegabytes<Name extends string>(
  port: number,
  metrics: Readonly<Record<Name, string>>,
): Promise<Record<Name, number>> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const entries = Object.entries<string>(metrics).map(([name, metric]) => {
    const bytes = Number(new RegExp(`^${metric} (\\S+)$`, 'm').exec(text)?.[1]);
    if (Number.isNaN(bytes)) throw new Error(`port ${port} serves no metric ${metric}`);
    return [name, bytes / 2 ** 20];
  });
  return Object.fromEntries(entries) as Record<Name, number>;
}
