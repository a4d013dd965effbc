// Reads the metrics that a process of the service serves.

export const RESIDENT_MEMORY = 'manilla_process_resident_memory_bytes';

/** Megabytes of a metric in bytes, from the metrics port of a process. Throws if the process does not serve it. */
export async function readMegabytes(port: number, metric: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const bytes = Number(new RegExp(`^${metric} (\\S+)$`, 'm').exec(text)?.[1]);
  if (Number.isNaN(bytes)) throw new Error(`port ${port} serves no metric ${metric}`);
  return bytes / 2 ** 20;
}
