// The files of an archive: a gzip of lines of JSON, and its manifest. First a line for each posting, from the newest
// seal to the oldest and by id within a seal; then one for each account, with its balance before and after the month.
// The format is in docs/archives.md.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type { Environment } from '../money.ts';

/** Raised when a line or the manifest gets another meaning. */
const FORMAT = 1;

/** Amounts are kobo as text, digests hexadecimal SHA-256. */
export interface Manifest extends ManifestHead {
  format: typeof FORMAT;
  postings: number;
  transactions: number;
  accounts: number;
  /** Name of the file beside the manifest, its size and its digest. */
  file: string;
  bytes: number;
  sha256: string;
}

/** What the database says about an archive. */
export interface ManifestHead {
  /** Public id. */
  organisation: string;
  environment: Environment;
  /** A month, as `2026-11`. */
  period: string;
  /** It has the postings of these seals; `digestBefore`: of the seal before the first, null for the first of a book. */
  seals: { first: number; last: number; until: string; digestBefore: string | null; digest: string };
  amount: string;
}

export interface ArchiveFiles {
  manifest: Manifest;
  /** SHA-256 of the manifest: the database keeps it. */
  manifestDigest: Buffer;
  /** Paths. */
  manifestFile: string;
  file: string;
}

/** What an account has in the archives before: its id, balance and number of entries, as text. */
interface Opening {
  id: string;
  balance: string;
  entries: string;
}

/** A file that is missing or changed; the message names it. */
export class ArchiveFileError extends Error {
  override readonly name = 'ArchiveFileError';
}

/** What a line of a posting has, of what is read here. */
interface Line {
  seal: number;
  debit: string;
  credit: string;
  posting: { transaction_id: string; debit_account_id: number; credit_account_id: number; amount: number };
}

const pathsOf = (folder: string, name: string) => ({
  file: path.join(folder, `${name}.ndjson.gz`),
  manifestFile: path.join(folder, `${name}.json`),
});

/**
 * Writes the files of an archive to a folder, which it creates. `seals`: for each seal its lines, newest seal first.
 * They get their names when they are complete and on disk, the manifest last. The same postings make the same files.
 */
export async function writeArchive(
  folder: string,
  name: string,
  { head, openings, seals }: { head: ManifestHead; openings: Map<string, Opening>; seals: AsyncIterable<string> },
): Promise<ArchiveFiles> {
  const { file, manifestFile } = pathsOf(folder, name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const accounts = new Accounts(openings);
  async function* content(): AsyncGenerator<string> {
    for await (const lines of seals) {
      for (const line of lines.split('\n')) accounts.add(JSON.parse(line));
      yield `${lines}\n`;
    }
    yield* accounts.lines();
  }
  const hash = createHash('sha256');
  let bytes = 0;
  const measured = new PassThrough().on('data', (chunk: Buffer) => {
    hash.update(chunk);
    bytes += chunk.length;
  });
  const partial = `${file}.partial`;
  await pipeline(Readable.from(content()), createGzip(), measured, createWriteStream(partial, { mode: 0o600 }));
  const manifest: Manifest = {
    format: FORMAT,
    ...head,
    postings: accounts.postings,
    transactions: accounts.transactions,
    accounts: accounts.count,
    file: path.basename(file),
    bytes,
    sha256: hash.digest('hex'),
  };
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  await keep(partial, file);
  await writeFile(`${manifestFile}.partial`, text, { mode: 0o600 });
  await keep(`${manifestFile}.partial`, manifestFile);
  // What is on the disk is read again, because the postings are deleted after this.
  return await checkArchive(folder, name, digestOf(text));
}

const digestOf = (text: string | Buffer): Buffer => createHash('sha256').update(text).digest();

/** Gives a file that is complete its name, durably. */
async function keep(partial: string, name: string): Promise<void> {
  await syncPath(partial);
  await rename(partial, name);
  await syncPath(path.dirname(name));
}

async function syncPath(name: string): Promise<void> {
  const handle = await open(name, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The entries of each account in the lines of an archive. */
class Accounts {
  readonly #openings: Map<string, Opening>;
  readonly #changes = new Map<string, { id: number; change: bigint; entries: number }>();
  readonly #transactions = new Set<string>();
  #transactionsBefore = 0;
  #seal = 0;
  postings = 0;

  constructor(openings: Map<string, Opening>) {
    this.#openings = openings;
  }

  get count(): number {
    return this.#changes.size;
  }

  get transactions(): number {
    return this.#transactionsBefore + this.#transactions.size;
  }

  add({ seal, debit, credit, posting }: Line): void {
    this.postings += 1;
    // The postings of a transaction have one time, so they are in one seal.
    if (seal !== this.#seal) {
      this.#seal = seal;
      this.#transactionsBefore += this.#transactions.size;
      this.#transactions.clear();
    }
    this.#transactions.add(posting.transaction_id);
    this.#change(debit, posting.debit_account_id, -BigInt(posting.amount));
    this.#change(credit, posting.credit_account_id, BigInt(posting.amount));
  }

  #change(account: string, id: number, change: bigint): void {
    const known = this.#changes.get(account) ?? { id, change: 0n, entries: 0 };
    this.#changes.set(account, { id, change: known.change + change, entries: known.entries + 1 });
  }

  /** A line for each account, by code. */
  *lines(): Generator<string> {
    for (const [account, { id, change, entries }] of [...this.#changes].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const before = this.#openings.get(account) ?? { balance: '0', entries: '0' };
      const first = Number(before.entries) + 1;
      const line = {
        account,
        id,
        opening: before.balance,
        closing: String(BigInt(before.balance) + change),
        entries: { first, last: first + entries - 1 },
      };
      yield `${JSON.stringify(line)}\n`;
    }
  }
}

/**
 * Compares the files of an archive with the digest of its manifest, and the file with its manifest: a changed byte in
 * either is refused. Throws an ArchiveFileError.
 */
export async function checkArchive(folder: string, name: string, manifestDigest: Buffer): Promise<ArchiveFiles> {
  const { file, manifestFile } = pathsOf(folder, name);
  const text = await readFile(manifestFile).catch((error: unknown) => missing(manifestFile, error));
  if (!digestOf(text).equals(manifestDigest)) {
    throw new ArchiveFileError(
      `${manifestFile} is not the manifest of this archive: it was changed, or is of another one.`,
    );
  }
  const manifest = JSON.parse(text.toString('utf8')) as Manifest;
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash).catch((error: unknown) => missing(file, error));
  if (hash.digest('hex') !== manifest.sha256) {
    throw new ArchiveFileError(`${file} was changed: it does not have the digest of its manifest. Take another copy.`);
  }
  return { manifest, manifestDigest, manifestFile, file };
}

function missing(file: string, error: unknown): never {
  if ((error as { code?: unknown }).code !== 'ENOENT') throw error;
  throw new ArchiveFileError(`There is no ${file}. Name the folder that the archive was written to.`);
}

/**
 * The lines of whole seals, newest first, about `linesMax` at a time; `first` is the oldest of these seals. Begins at
 * the seal `from`: the ones after it are left out.
 */
export async function* readSeals(
  file: string,
  from: number,
  linesMax: number,
): AsyncGenerator<{ first: number; lines: string[] }> {
  let first = 0;
  let lines: string[] = [];
  for await (const line of readLines(file)) {
    const { seal } = JSON.parse(line) as Partial<Line>;
    if (seal === undefined) break; // the accounts
    if (seal > from) continue;
    if (seal !== first && lines.length >= linesMax) {
      yield { first, lines };
      lines = [];
    }
    first = seal;
    lines.push(line);
  }
  if (lines.length > 0) yield { first, lines };
}

async function* readLines(file: string): AsyncGenerator<string> {
  const text = createGunzip();
  // An error of the file destroys `text`, which the loop throws.
  pipeline(createReadStream(file), text).catch(() => {});
  let rest = '';
  for await (const chunk of text.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
