// Prompts for a value on the terminal. A secret is not shown while it is typed.
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** Asks for a value. Only for a process whose standard input is a terminal. */
export async function ask(question: string, isSecret: boolean): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({
    input: process.stdin,
    output: isSecret ? silent : process.stderr,
    terminal: true,
  });
  // After the terminal was taken over: what is typed before that is shown.
  if (isSecret) process.stderr.write(question);
  try {
    return (await terminal.question(isSecret ? '' : question)).trim();
  } finally {
    terminal.close();
    if (isSecret) process.stderr.write('\n');
  }
}
