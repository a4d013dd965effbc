// The credentials of the only contract of the Monnify fake. Not secrets: it listens on this machine only.
export const FAKE_CREDENTIALS = {
  apiKey: 'MK_TEST_4KFAKE0KEY',
  // The key of the example in Monnify's documentation.
  secretKey: '91MUDL9N6U3BQRXBQ2PJ9M0PW4J22M1Y',
  contractCode: '5867418298',
  walletAccountNumber: '8016472829',
  preferredBank: '50515',
  bvn: '',
};
