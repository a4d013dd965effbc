// The credentials of the only contract of the Nomba fake. Not secrets: it listens on this machine only.
export const FAKE_CREDENTIALS = {
  clientId: 'c6d4f0de-6a5d-4cf0-9d3e-fake00000001',
  clientSecret: 'fakeSecretOfTheStandInForNomba==',
  accountId: '890022ce-bae0-45c1-9b9d-ee7872e6ca27',
  signatureKey: 'fakeSignatureKey2026',
  senderName: 'Manilla',
};
