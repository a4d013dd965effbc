// The books of the Nomba fake, and what it shows of them in the shapes of Nomba's documentation.
export interface Account {
  ref: string;
  name: string;
  number: string;
  expiry: string;
  expired: boolean;
}

export interface Row {
  id: string;
  type: 'vact_transfer' | 'transfer';
  status: string;
  amount: string;
  charge: string;
  at: Date;
  merchantTxRef: string | null;
  sessionId: string;
  recipient: string;
  /** `DEBIT` of an account number's row: money that left by it. */
  entry?: 'CREDIT' | 'DEBIT';
  ref: string;
  timesPaid: number;
  body: string;
}

export const number = (text: string): unknown =>
  (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON(text);
export const kobo = (text: string): bigint => BigInt(text.replace('.', ''));
export const naira = (amount: bigint): string => {
  const digits = String(amount).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
};

export const viewOf = ({ ref, name, number: bankAccountNumber, expiry, expired }: Account): object => ({
  createdAt: '2026-11-22T09:30:00.000Z',
  accountRef: ref,
  accountHolderId: '8d19d421-85b1-4b61-be90-168dc261gf45',
  accountName: name,
  currency: 'NGN',
  bankAccountNumber,
  bankAccountName: `Nomba/${name}`,
  bankName: 'Nombank MFB',
  expiryDate: expiry.replace(' ', 'T'),
  expired,
});

export const sendView = (row: Row, status: string): object => ({
  amount: number(row.amount),
  meta: { merchantTxRef: row.merchantTxRef, rrn: '230908151711' },
  fee: number(row.charge),
  timeCreated: row.at.toISOString(),
  id: row.id,
  type: 'transfer',
  status,
});

export const rowView = (row: Row): object => ({
  id: row.id,
  status: row.status,
  amount: row.type === 'transfer' ? number(row.amount) : row.amount,
  fixedCharge: row.charge,
  source: 'api',
  type: row.type,
  entryType: row.entry ?? (row.type === 'transfer' ? 'DEBIT' : 'CREDIT'),
  timeCreated: row.at.toISOString(),
  merchantTxRef: row.merchantTxRef,
  paymentVendorReference: row.sessionId,
  recipientAccountNumber: row.recipient,
  // Of every row that the provider has ended, whatever the end.
  gatewayMessage: row.status === 'PENDING_BILLING' ? 'Transaction in progress' : 'SUCCESS',
  senderName: 'CHIDI EZE',
  accountNumber: '0065432190',
  bankCode: '090645',
});
