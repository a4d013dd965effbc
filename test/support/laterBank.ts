// A provider that differs from the sandbox bank in all that a rail may differ in: exact amounts, numbers that it closes
// early and hands on, charges, and two balances. It is the sandbox bank behind other capabilities.
import type { RailCapabilities } from '../../src/rail/capabilities.ts';
import type { BankRail } from '../../src/rail/port.ts';
import type { RailProvider } from '../../src/rail/provider.ts';
import { Rails } from '../../src/rail/rails.ts';
import { addProvider } from './providers.ts';

export const LATER_BANK = 'laterbank';

const capabilitiesOf = (of: RailCapabilities): RailCapabilities => ({
  ...of,
  oneOff: { amount: 'exact', maxSeconds: 600, minAmount: 60_000, closes: false, lateMoney: 'bounced' },
  permanent: { needs: ['bvn', 'name'] },
  credits: { ...of.credits, settles: 'later' },
  charges: { collection: { basisPoints: 150, max: 200_000 }, transfer: [{ below: null, charge: 2_000 }] },
});

/** The rails with this bank in place of the sandbox bank, with some of its functions replaced. */
export function withLaterBank(rails: Rails, change: (bank: BankRail) => Partial<BankRail> = () => ({})): Rails {
  const sandbox = rails.shared('test') as BankRail;
  const capabilities = capabilitiesOf(sandbox.capabilities);
  addProvider({ name: LATER_BANK, version: '1', capabilities } as RailProvider);
  const bank: BankRail = { ...sandbox, name: LATER_BANK, capabilities };
  return new Rails({ test: { ...bank, ...change(bank) } });
}
