// Writes docs/rails/capabilities.md from what the adapters declare: `npm run generate -- rails`. A test checks
// that it is up to date.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nairaText } from '../src/money.ts';
import type { RailCapabilities, RailCharges } from '../src/rail/capabilities.ts';
import { PROVIDERS } from '../src/rail/providers.ts';

const FILE = new URL('../docs/rails/capabilities.md', import.meta.url);

const yesNo = (value: boolean): string => (value ? 'yes' : 'no');

function duration(seconds: number): string {
  if (seconds % 86_400 === 0 && seconds > 86_400) return `${seconds / 86_400} days`;
  if (seconds % 3_600 === 0) return `${seconds / 3_600} hours`;
  return seconds % 60 === 0 ? `${seconds / 60} minutes` : `${seconds} seconds`;
}

function transferPrices({ transfer }: RailCharges): string {
  return transfer
    .map(({ below, charge }) => `${nairaText(charge)}${below === null ? '' : ` below ${nairaText(below)}`}`)
    .join(', ');
}

/** Each row of the table: its title, and its cell from capabilities. */
const ROWS: readonly (readonly [string, (capabilities: RailCapabilities) => string])[] = [
  ['Amount of a payment', ({ oneOff }) => oneOff.amount],
  ['A payment is open at most', ({ oneOff }) => duration(oneOff.maxSeconds)],
  ['Smallest payment', ({ oneOff }) => nairaText(oneOff.minAmount)],
  ['The account number of a payment is closed with it', ({ oneOff }) => yesNo(oneOff.closes)],
  ['Late money is', ({ oneOff }) => oneOff.lateMoney],
  ['Account numbers of wallets need', ({ permanent }) => permanent.needs.join(', ') || 'nothing'],
  ['Collected money can be paid out', ({ credits }) => (credits.settles === 'later' ? 'once settled' : 'at once')],
  [
    'A transfer that it has accepted may be unknown to queries',
    ({ transfers }) => `for ${duration(transfers.notVisibleForMs / 1_000)}`,
  ],
  [
    'A reference that is unknown after that was never received',
    ({ transfers }) => (transfers.unknownIsFinal ? 'yes, after three sends' : 'not certain'),
  ],
  [
    'Two equal transfers to one account',
    ({ transfers: { sameRecipientGapMs: ms } }) => (ms === 0 ? 'at once' : `${duration(ms / 1_000)} apart`),
  ],
  ['Smallest transfer', ({ transfers }) => nairaText(transfers.minAmount)],
  ['Reports its balance', ({ transfers }) => yesNo(transfers.balance)],
  ['A row of its lists may change for', ({ lists }) => duration(lists.changeForMs / 1_000)],
  ['The signature of a callback covers', ({ callbacks }) => callbacks.signed],
  [
    'List price of a collection',
    ({ charges }) =>
      charges?.collection
        ? `${charges.collection.basisPoints / 100} %, at most ${nairaText(charges.collection.max)}`
        : 'not known',
  ],
  ['List price of a transfer', ({ charges }) => (charges === null ? 'not known' : transferPrices(charges))],
];

export function railsPage(): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const names = PROVIDERS.map(({ name }) => `[${name}](${name}.md)`);
  return [
    '<!-- Generated from src/rail/providers.ts by `npm run generate -- rails`. Do not edit. -->',
    '',
    '# What each rail can do',
    '',
    'As its adapter declares it. [What follows from it](README.md#what-a-rail-can-do) is the same for every rail.',
    '',
    line(['', ...names]),
    `|${'---|'.repeat(names.length + 1)}`,
    ...ROWS.map(([title, cellOf]) => line([title, ...PROVIDERS.map(({ capabilities }) => cellOf(capabilities))])),
    '',
  ].join('\n');
}

export function writeRails(): void {
  writeFileSync(FILE, railsPage());
  console.log(`wrote ${fileURLToPath(FILE)}`);
}
