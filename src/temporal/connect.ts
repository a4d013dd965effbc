// The one way to connect to Temporal, for every process and both kinds of connection of the SDK: `Connection` of a
// client and `NativeConnection` of a worker. A failure says what to set.
import { faultOfConnection } from './faults.ts';
import type { TemporalTarget } from './profile.ts';

/** The options of a connection of either kind. */
export const connectionOptions = ({ address, credentials }: TemporalTarget) => ({ address, ...credentials() });

/** Connects. Throws a TemporalFault. */
export async function connect<Options, Connected>(
  kind: { connect: (options?: Options) => Promise<Connected> },
  target: TemporalTarget,
  more: Partial<Options> = {},
): Promise<Connected> {
  const options = { ...connectionOptions(target), ...more } as Options;
  try {
    return await kind.connect(options);
  } catch (error) {
    throw faultOfConnection(error, target);
  }
}
