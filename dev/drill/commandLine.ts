// The command line, as two operators run it during a drill.
import { runCommand } from '../chaos/operators.ts';
import type { Participants } from '../chaos/participants.ts';
import type { ChaosStack } from '../chaos/stack.ts';

/** One requests what the other approves. */
type Who = 'finance' | 'approver';

export interface CommandLine {
  /** Returns the JSON that the command prints, also when it exits with 1 because of what it found. */
  run: <Output>(who: Who, ...words: string[]) => Promise<Output>;
}

export function commandLineOf({ settings }: ChaosStack, { operatorKeys }: Participants): CommandLine {
  return {
    async run<Output>(who: Who, ...words: string[]): Promise<Output> {
      const key = operatorKeys[who === 'finance' ? 0 : 1];
      const { output, failure } = await runCommand(words, { ...settings, MANILLA_OPERATOR_KEY: key });
      if (output === null) throw new Error(`${words.join(' ')}: ${failure}`);
      return output as Output;
    },
  };
}
