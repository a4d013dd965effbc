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

export class CheckpointFile {
  readonly #file: string;
  readonly #database: string;
  #savedAt = 0;

  /** `databaseUrl`: a checkpoint is of use in its own database only. */
  constructor(file: string, databaseUrl: string) {
    this.#file = file;
    const { host, pathname } = new URL(databaseUrl);
    this.#database = createHash('sha256').update(`${host}${pathname}`).digest('hex');
  }

  /** The checkpoint of the run that was interrupted; null without one in the last twelve hours. */
  read(): Checkpoint | null {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ENOENT') return null;
      throw new CommandError(`${this.#file} cannot be read (${(error as Error).message}).`);
    }
    const content = contentSchema.safeParse(parsed(text)).data;
    if (content?.database !== this.#database) {
      throw new CommandError(
        `${this.#file} is not of a verification of this database. Name another file, or remove it.`,
      );
    }
    return Date.now() - Date.parse(content.savedAt) > OLDEST_MS ? null : (content.checkpoint as Checkpoint);
  }

  /** Keeps the checkpoint, about once a second. */
  save(checkpoint: Checkpoint | null): void {
    const now = Date.now();
    if (checkpoint === null || now - this.#savedAt < SAVE_EVERY_MS) return;
    this.#savedAt = now;
    const content = { database: this.#database, savedAt: new Date(now).toISOString(), checkpoint };
    // Renamed, so that a kill while it is written leaves the checkpoint before.
    writeFileSync(`${this.#file}.new`, JSON.stringify(content), { mode: 0o600 });
    renameSync(`${this.#file}.new`, this.#file);
  }

  /** The verification is complete. */
  remove(): void {
    rmSync(this.#file, { force: true });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
