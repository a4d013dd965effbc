// Proofs of who decides, which the database checks (src/ledger/sql/decisions.sql): the SHA-256 of a secret. What is
// stored is the SHA-256 of that, so that nothing that is read from the database proves anything.
import { hash } from 'node:crypto';

export type Proof = string;

/** Accepted from the database's owner only, who can do everything. */
export const OWNER_PROOF: Proof = 'owner';

/** Of the worker itself, which may pause a rail, prove a day without breaks, and decide nothing else. */
export const WORKER_PROOF: Proof = 'worker';

const digest = (secret: string): string => hash('sha256', secret, 'hex');

export const proofOfOperator = (key: string): Proof => `key:${digest(key)}`;

export const proofOfApiKey = (key: string): Proof => `api:${digest(key)}`;

/** Groups, upper case and what else a person adds do not matter. */
export const proofOfCode = (code: string): Proof => `code:${digest(code.toLowerCase().replaceAll(/[^0-9a-z]/g, ''))}`;

/** What is stored of a secret, by its proof. */
export const hashOfProof = (proof: Proof): Buffer =>
  hash('sha256', Buffer.from(proof.slice(proof.indexOf(':') + 1), 'hex'), 'buffer');
