// The token of a contract: one login for all callers, renewed before it expires, and the old one while a login fails.
import { expect, test } from '@jest/globals';
import { RailNotReadyError, RailUnavailableError } from '../../src/rail/errors.ts';
import { createTokenSource } from '../../src/rail/token.ts';

function source() {
  const state = { now: 0, logins: 0, failure: null as Error | null };
  const tokens = createTokenSource(
    () => {
      state.logins += 1;
      if (state.failure !== null) return Promise.reject(state.failure);
      return Promise.resolve({ text: `token ${state.logins}`, lifeMs: 3_600_000 });
    },
    () => state.now,
  );
  return { state, tokens };
}

test('200 callers at once share one login, also after the token has expired', async () => {
  const { state, tokens } = source();
  const all = (): Promise<string[]> => Promise.all(Array.from({ length: 200 }, () => tokens.get()));
  expect(new Set(await all())).toEqual(new Set(['token 1']));
  state.now = 3_600_000;
  expect(new Set(await all())).toEqual(new Set(['token 2']));
  expect(state.logins).toBe(2);
});

test('a token is renewed a minute before it expires', async () => {
  const { state, tokens } = source();
  await tokens.get();
  state.now = 3_540_000 - 1;
  expect(await tokens.get()).toBe('token 1');
  state.now = 3_540_000;
  expect(await tokens.get()).toBe('token 2');
});

test('a refused token is forgotten once, however many calls it was refused to', async () => {
  const { state, tokens } = source();
  const token = await tokens.get();
  tokens.forget(token);
  const renewed = await tokens.get();
  tokens.forget(token);
  expect(await tokens.get()).toBe(renewed);
  expect(state.logins).toBe(2);
});

test('while a login has no response, a token is used until it expires', async () => {
  const { state, tokens } = source();
  await tokens.get();
  state.failure = new RailUnavailableError('down');
  state.now = 3_600_000 - 1;
  expect(await tokens.get()).toBe('token 1');
  state.now = 3_600_000;
  await expect(tokens.get()).rejects.toThrow('down');
  state.failure = null;
  expect(await tokens.get()).toBe('token 4');
});

test('a login that is refused fails the call, and the next call tries again', async () => {
  const { state, tokens } = source();
  await tokens.get();
  state.failure = new RailNotReadyError('unauthorised', 'bad credentials');
  state.now = 3_550_000;
  await expect(tokens.get()).rejects.toThrow('bad credentials');
  state.failure = null;
  expect(await tokens.get()).toBe('token 3');
});
