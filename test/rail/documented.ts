// Responses of providers as they are documented or were captured, and a provider that answers with them: each is
// written anew with values of our own. When one field of a response is changed, the adapter must conclude the same from
// it, or that it does not know.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect, isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { RailCallbackInvalidError } from '../../src/rail/errors.ts';
import { parseJson } from '../../src/rail/http.ts';
import type { RailCallback } from '../../src/rail/port.ts';
import type { ClosableRail } from '../../src/rail/provider.ts';
import { mutations } from './mutations.ts';

export interface Documented {
  name: string;
  /** Where it was read. */
  source: string;
  kind: 'documented' | 'captured';
  /** When the source was read. */
  seen: string;
  status: number;
  /** The raw text: providers write amounts as numbers here and as texts there. */
  text: string;
}

type Answer = Pick<Documented, 'status' | 'text'>;
/** By method and path, each `*` of which is one segment; a function of the URL answers each request by itself. */
export type Answers = Record<string, Answer | ((url: URL) => Answer)>;

export interface AnsweringServer {
  baseUrl: string;
  answers: Answers;
  /** Requests without an answer. */
  strange: string[];
  close: () => Promise<void>;
}

/** A server that has an answer for each route. */
export async function startAnsweringServer(): Promise<AnsweringServer> {
  const strange: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://x');
    const line = `${request.method} ${url.pathname}`;
    const route = Object.keys(answering.answers).find((known) => patternOf(known).test(line));
    if (route === undefined) strange.push(line);
    const answer = (route && answering.answers[route]) || { status: 500, text: '' };
    const { status, text } = typeof answer === 'function' ? answer(url) : answer;
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const answering: AnsweringServer = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers: {},
    strange,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return answering;
}

const patternOf = (route: string): RegExp => new RegExp(`^${route.replaceAll('*', '[^/]+')}$`);

/** What a call concludes: its result, or in one word how it failed. */
async function conclusionOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    const { name, why, message } = error as Error & { why?: string };
    if (name === 'RailUnavailableError') return 'unknown';
    if (name === 'RailNotReadyError') return why;
    return name === 'RailRefusedError' ? 'refused' : `${name}: ${message}`;
  }
}

/** A call of the port, and what is concluded from a documented response to one of its requests. */
export interface DocumentedCase {
  /** The request that is responded to with it. */
  route: string;
  list: readonly Documented[];
  name: string;
  call: (rail: ClosableRail) => Promise<unknown>;
  expected: unknown;
  /** The responses to other requests, where they differ from the usual ones. */
  besides?: Answers;
  /** Fields of the result that are passed on as they come, such as names. */
  passedOn?: readonly string[];
  /** Other conclusions that are right for a changed response. */
  harmless?: readonly unknown[];
  /** Each time in a new process, without a token and a list of banks. */
  isFirst?: boolean;
}

export const caseOf = (
  route: string,
  list: readonly Documented[],
  name: string,
  call: DocumentedCase['call'],
  expected: unknown,
  more: Partial<DocumentedCase> = {},
): DocumentedCase => ({ route, list, name, call, expected, ...more });

export function named(list: readonly Documented[], name: string): Documented {
  const found = list.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no documented response ${name}`);
  return found;
}

/**
 * The conclusion from a documented response, and the changes of one field of it from which something else is concluded
 * than unknown, or than the same with some fields unknown.
 */
async function concludeFrom(
  { route, list, name, call, expected, besides, passedOn = [], harmless = [], isFirst = false }: DocumentedCase,
  server: AnsweringServer,
  usual: Answers,
  openRail: () => ClosableRail,
): Promise<{ conclusion: unknown; wrong: string[] }> {
  const response = named(list, name);
  const rail = openRail();
  const conclude = async (answer: Answer): Promise<unknown> => {
    server.answers = { ...usual, ...besides, [route]: answer };
    if (!isFirst) return await conclusionOf(call(rail));
    const first = openRail();
    const conclusion = await conclusionOf(call(first));
    await first.close();
    return conclusion;
  };
  const conclusion = await conclude(response);
  const wrong: string[] = [];
  for (const { what, value } of mutations(parseJson(Buffer.from(response.text)))) {
    const changed = await conclude({ ...response, text: JSON.stringify(value) });
    const isRight = [expected, 'unknown', ...harmless].some((right) => isSameOrUnknown(changed, right, passedOn));
    if (!isRight) wrong.push(`${what}: ${JSON.stringify(expected)} became ${JSON.stringify(changed)}`);
  }
  await rail.close();
  return { conclusion, wrong };
}

/** The changes of one field of a callback that give it another meaning than none, or the same with unknown fields. */
function wrongMeanings(
  event: Documented,
  meaning: object,
  passedOn: readonly string[],
  parse: (body: Buffer) => RailCallback[],
): string[] {
  return [...mutations(parseJson(Buffer.from(event.text)))].flatMap(({ what, value }) => {
    let callbacks: RailCallback[];
    try {
      callbacks = parse(Buffer.from(JSON.stringify(value)));
    } catch (error) {
      return error instanceof RailCallbackInvalidError ? [] : [`${what}: ${inspect(error)}`];
    }
    const isRight =
      callbacks.every(({ kind }) => kind === 'ignored') || isSameOrUnknown(callbacks, [meaning], passedOn);
    return isRight ? [] : [`${what}: ${JSON.stringify(callbacks)}`];
  });
}

/** Whether each field is as in the original, or unknown. */
function isSameOrUnknown(conclusion: unknown, original: unknown, passedOn: readonly string[]): boolean {
  if (isDeepStrictEqual(conclusion, original)) return true;
  if (!isPlain(conclusion) || !isPlain(original) || Array.isArray(conclusion) !== Array.isArray(original)) return false;
  const names = new Set([...Object.keys(conclusion), ...Object.keys(original)]);
  return [...names].every((name) => {
    const value = conclusion[name];
    if (value === null || isSameOrUnknown(value, original[name], passedOn)) return true;
    return passedOn.includes(name) && typeof value === 'string';
  });
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !(value instanceof Date);

/** Each documented response has one outcome through the whole adapter, and with one changed field the same or none. */
export function testResponses({
  cases,
  usual,
  passedOn,
  openRail,
}: {
  cases: readonly DocumentedCase[];
  /** The responses to requests that a case is not about. */
  usual: Answers;
  /** Of the cases that name none. */
  passedOn: readonly string[];
  openRail: (baseUrl: string) => ClosableRail;
}): void {
  describe('a documented response has one outcome, and with one changed field the same or none', () => {
    let server: AnsweringServer;

    beforeAll(async () => {
      server = await startAnsweringServer();
    });

    afterAll(async () => {
      expect(server.strange).toEqual([]);
      await server.close();
    });

    test.each(cases.map((one) => [`${one.route}: ${one.name}`, one] as const))('%s', async (_, one) => {
      const open = (): ClosableRail => openRail(server.baseUrl);
      const { conclusion, wrong } = await concludeFrom({ passedOn, ...one }, server, usual, open);
      expect(conclusion).toEqual(one.expected);
      expect(wrong).toEqual([]);
    });
  });
}

/** Each documented callback has one meaning, and with one changed field the same or none. */
export function testCallbacks({
  events,
  meanings,
  passedOn,
  parse,
}: {
  events: readonly Documented[];
  /** By the name of the event. */
  meanings: readonly (readonly [string, object])[];
  passedOn: readonly string[];
  /** Parses a body with a valid signature. */
  parse: (body: Buffer) => RailCallback[];
}): void {
  describe('a callback has one meaning, and with one changed field the same or none', () => {
    test.each(meanings)('%s', (name, meaning) => {
      const event = named(events, name);
      expect(parse(Buffer.from(event.text))).toEqual([meaning]);
      expect(wrongMeanings(event, meaning, passedOn, parse)).toEqual([]);
    });
  });
}

/** Each was read at a source, on that day, and is JSON. */
export function testSources(lists: readonly (readonly Documented[])[], seen: string): void {
  test('every documented response has a source and a date', () => {
    for (const one of lists.flat()) {
      expect(one).toEqual(expect.objectContaining({ source: expect.stringMatching(/\w\.\w/), seen }));
      expect(parseJson(Buffer.from(one.text))).toBeDefined();
    }
  });
}
