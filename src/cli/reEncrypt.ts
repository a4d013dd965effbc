// `keys rotate --re-encrypt`: after a new key was put first in MANILLA_KEYS, seals with it what the other keys have
// sealed, so that they can be removed.
import { listOrganisationIds } from '../resources/organisations.ts';
import { countSealed, recordReEncryption, reEncrypt } from '../resources/reEncryption.ts';
import { withDatabase } from './command.ts';
import { CommandError } from './failure.ts';
import { printResult } from './print.ts';
import { keyringOf } from './settings.ts';
import { signIn } from './signIn.ts';

/** Unreadable values that a message names. */
const NAMED_MAX = 5;

export const reEncryptAll = (options: { json?: true }): Promise<void> =>
  withDatabase('application', async (sql, settings) => {
    const [newest, ...older] = keyringOf(settings).keyIds;
    const { proof } = await signIn(sql, settings, 'keys rotate');
    const countLeft = async (): Promise<number> => {
      const counts = await countSealed(sql);
      return [...counts].reduce((sum, [keyId, count]) => sum + (keyId === newest ? 0 : count), 0);
    };
    const progress = (left: number): void => {
      process.stderr.write(`${left} left to encrypt with ${newest}\n`);
    };

    const before = await countLeft();
    let done = 0;
    progress(before);
    await recordReEncryption(sql, proof, newest, before);
    const organisationIds = await listOrganisationIds(sql);
    const unreadable = await reEncrypt(sql, keyringOf(settings), organisationIds, (count) => {
      done += count;
      progress(before - done);
    });
    if (unreadable.length > 0) {
      const named = unreadable.slice(0, NAMED_MAX).map(({ table, id, error }) => `${table} ${id}: ${error}`);
      throw new CommandError(`${unreadable.length} values cannot be opened, and are left: ${named.join('; ')}`);
    }
    const left = await countLeft();
    if (left > 0) {
      throw new CommandError(
        `${left} values were encrypted with an older key meanwhile: put ${newest} first in every process, then run it again.`,
      );
    }
    printResult(
      options,
      { newestKey: newest, reEncrypted: done, left, removableKeys: older },
      `${done} values were encrypted again; everything is encrypted with ${newest} now.`,
      older.length > 0 &&
        `Remove ${older.join(', ')} from MANILLA_KEYS a week after ${newest} became the first: what they have signed is not accepted any more then.`,
    );
  });
