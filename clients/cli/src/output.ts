// Output: results on standard output, as lines for people or as one JSON document a line for programs; progress on
// standard error. Colours only on a terminal, and not where NO_COLOR is set.
import { styleText } from 'node:util';

type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';
type Stream = NodeJS.WriteStream;

/** The text in a colour, if the stream shows colours. */
export const paint = (colour: Colour, text: string, stream: Stream = process.stdout): string =>
  styleText(colour, text, { stream });

export function printDocument(document: unknown): void {
  process.stdout.write(`${JSON.stringify(document)}\n`);
}

export interface Output {
  /** A result: the document with --json, else the line. */
  result: (document: unknown, line: string) => void;
  /** What is going on, for people: on standard error, with --json too. */
  progress: (text: string) => void;
  /** What went wrong and does not end the command. */
  warning: (text: string) => void;
}

export const createOutput = (json: boolean): Output => ({
  result: (document, line) => {
    if (json) printDocument(document);
    else process.stdout.write(`${line}\n`);
  },
  progress: (text) => void process.stderr.write(`${paint('dim', text, process.stderr)}\n`),
  warning: (text) => void process.stderr.write(`${paint('yellow', text, process.stderr)}\n`),
});

/** The time of day of an ISO time, on this machine's clock: `12:03:04`. */
export const clockText = (time: string): string => new Date(time).toLocaleTimeString('en-GB');

/** A status of HTTP: green for success, yellow for redirects and refusals, red for failures. */
export const statusText = (status: number, stream: Stream = process.stdout): string =>
  paint(status < 300 ? 'green' : status < 500 ? 'yellow' : 'red', String(status), stream);
