// Chooses the ports of the stack's processes: the wanted port when it is free, otherwise another one. Also covers a
// port that another program takes between the check and the listen.
import { freePort, retryWhenTaken } from './freePort.ts';

export interface WantedPort {
  /** The setting of the port. */
  setting: string;
  /** What listens on it, for messages. */
  what: string;
  port: number;
  /** Whether the user set the port: the message then names the setting. */
  isSet: boolean;
  address: string;
}

export type WantedPorts<Name extends string> = Record<Name, WantedPort>;
type Ports<Name extends string> = Record<Name, number>;
type Say = (line: string) => void;

/**
 * The message for a process that listens on another port than the wanted one; undefined when it has the wanted port.
 */
function movedMessage({ setting, what, port, isSet }: WantedPort, chosen: number): string | undefined {
  if (chosen === port) return undefined;
  return isSet
    ? `  ${setting}=${port} is taken: ${what} is on ${chosen}`
    : `  port ${port} is taken: ${what} is on ${chosen} (set ${setting} to choose another)`;
}

export function sayMoved(wanted: WantedPort, chosen: number, say: Say): void {
  const line = movedMessage(wanted, chosen);
  if (line !== undefined) say(line);
}

/** Returns a free port for each, the wanted one where possible. */
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

/**
 * Starts a process on these ports, and on others when one of them is taken by then. Resolves to the ports it listens
 * on.
 */
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
