// The sandbox bank with some of its operations replaced.
import type { BankRail } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';

/** For the option `rails` of `startTestApi`. `change` gets the sandbox bank. */
export const changedRail =
  (change: (bank: BankRail) => Partial<BankRail>) =>
  (rails: Rails): Rails => {
    const bank = rails.shared('test');
    if (bank === null) throw new Error('there is no sandbox bank');
    return new Rails({ test: { ...bank, ...change(bank) } });
  };
