// Where an interrupted `ledger verify` continues: its checkpoint, in a file that the operator names.
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { Checkpoint } from '../verification/verify.ts';
import { CommandError } from './failure.ts';

/** A kill loses at most this much work; a page takes about as long. */
const SAVE_EVERY_MS = 1_000;
/** As long as a run of the flow may last: what was verified before is older than an operator expects. */
const OLDEST_MS = 12 * 3_600_000;

const contentSchema = z.object({ database: z.string(), savedAt: z.iso.datetime(), checkpoint: z.unknown() });

/** A checkpoint is of use in its own database only, which `databaseUrl` names. */
export function checkpointFile(file: string, databaseUrl: string) {
  const target = databaseUrl.replace(/\?.*$/, '').replace(/^.*@/, ''); // hosts and name
  const database = createHash('sha256').update(target).digest('hex');
  let lastSavedAt = 0;

  return {
    /** The checkpoint of the run that was interrupted; null without one in the last twelve hours. */
    read(): Checkpoint | null {
      let json: unknown;
      try {
        json = JSON.parse(readFileSync(file, 'utf8'));
      } catch (error) {
        const { code, message } = error as Error & { code?: unknown };
        if (code === 'ENOENT') return null;
        if (code !== undefined) throw new CommandError(`${file} cannot be read (${message}).`);
      }
      const content = contentSchema.safeParse(json).data;
      if (content?.database !== database) {
        throw new CommandError(`${file} is not of a verification of this database. Name another file, or remove it.`);
      }
      return Date.now() - Date.parse(content.savedAt) > OLDEST_MS ? null : (content.checkpoint as Checkpoint);
    },

    /** Keeps the checkpoint, about once a second. */
    save(checkpoint: Checkpoint | null): void {
      const now = Date.now();
      if (checkpoint === null || now - lastSavedAt < SAVE_EVERY_MS) return;
      lastSavedAt = now;
      // Renamed, so that a kill while it is written leaves the checkpoint before.
      const content = { database, savedAt: new Date(now).toISOString(), checkpoint };
      writeFileSync(`${file}.new`, JSON.stringify(content), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    },

    /** The verification is complete. */
    remove: () => rmSync(file, { force: true }),
  };
}
