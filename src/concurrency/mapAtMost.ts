// Work on a list, several items at once.

/** Works on so many items at once. After a failure none begins; it is thrown when those begun are over. */
export async function mapAtMost<Item, Result>(
  limit: number,
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    try {
      for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as Item);
    } catch (error) {
      next = items.length;
      throw error;
    }
  };
  const workers = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, worker));
  for (const ended of workers) if (ended.status === 'rejected') throw ended.reason;
  return results;
}
