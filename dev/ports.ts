// The ports that the programs of the stack listen on: those that are wanted while they are free, others otherwise, also when
// another program takes one between our finding it and the program's listening on it.
import { freePort, retryWhenTaken } from './freePort.ts';

export interface WantedPort {
  /** The setting that names it. */
  setting: string;
  /** What listens there, for people. */
  what: string;
  port: number;
  /** Whether the user set it: then it is the setting that is said to be taken. */
  isSet: boolean;
  address: string;
}

export type WantedPorts<Name extends string> = Record<Name, WantedPort>;
type Ports<Name extends string> = Record<Name, number>;
type Say = (line: string) => void;

/** What is said when something listens on another port than the wanted one; undefined: it does not. */
function moved({ setting, what, port, isSet }: WantedPort, chosen: number): string | undefined {
  if (chosen === port) return undefined;
  return isSet
    ? `  ${setting}=${port} is taken: ${what} is on ${chosen}`
    : `  port ${port} is taken: ${what} is on ${chosen} (${setting} names another)`;
}

export function sayMoved(wanted: WantedPort, chosen: number, say: Say): void {
  const line = moved(wanted, chosen);
  if (line !== undefined) say(line);
}

/** A free port for each, the wanted one where that is possible. */
export async function choosePorts<Name extends string>(wanted: WantedPorts<Name>, say: Say): Promise<Ports<Name>> {
  const chosen: [string, number][] = [];
  for (const [name, one] of Object.entries<WantedPort>(wanted)) {
    const others = chosen.map(([, port]) => port);
    const port = await freePort(one.port, others, one.address);
    sayMoved(one, port, say);
    chosen.push([name, port]);
  }
  return Object.fromEntries(chosen) as Ports<Name>;
}

/** Starts a program on these ports, and on others when one of them turns out to be taken. Resolves with those it has. */
export async function startOnPorts<Name extends string>(
  chosen: Ports<Name>,
  wanted: WantedPorts<Name>,
  say: Say,
  start: (ports: Ports<Name>) => Promise<void>,
): Promise<Ports<Name>> {
  let next: Ports<Name> | undefined = chosen;
  return await retryWhenTaken(async () => {
    const ports: Ports<Name> = next ?? (await choosePorts(wanted, say));
    next = undefined;
    await start(ports);
    return ports;
  });
}
