// The sockets of a pool, with workarounds for three faults of the driver. It waits forever for a server that accepts a
// statement and never replies, as behind a network that drops packets; and it reconnects without a pause when the
// server closes the connection (porsager/postgres #1193). In both cases the socket is destroyed here: the driver then
// fails the statements that were sent on it and does not send them again. And it does not handle the loss of a
// connection on which it asks for the array types.
import { Socket } from 'node:net';
import type postgres from 'postgres';
import type { Address } from './primary.ts';

/** The driver closes a connection that is idle for this long, so an open one has a statement pending. */
export const IDLE_SECONDS = 8;

/** Without a byte from the server. Longer than the idle timeout, and than a request may take (8 s). */
const STALL_TIMEOUT_MS = 10_000;

/**
 * `statement_timeout`. A backend that waits for a lock does not notice that its client has disconnected: without a
 * limit it would keep one of the server's connections, and every retry another one. Longer than a request may take
 * (`REQUEST_MAX_MS`, 8 s), so its caller has timed out; shorter than the stall timeout, so that the connection survives
 * and the statement is known to have written nothing.
 */
export const STATEMENT_MAX_MS = 9_000;
const CHECK_INTERVAL_MS = 500;

/** The part of a pool's parsed options with the array types. One object for all its connections. */
export interface TypeOptions {
  /** Whether a new connection asks the server for its array types. */
  fetch_types: boolean;
  /** Filled by the first connection that asked. */
  shared: { typeArrayMap: object };
}

/**
 * Whether a connection must ask for the array types. The driver asks on every new connection, and a connection that is
 * lost meanwhile ends the process with an unhandled error: so they are read only until they are known.
 */
export const needsTypes = ({ shared }: TypeOptions): boolean => Object.keys(shared.typeArrayMap).length === 0;

/** The parsed options of a pool, which the driver passes. */
type PoolOptions = postgres.Sql['options'] & TypeOptions;

/**
 * The driver's `socket` option for one pool. `closeWhenStalled`: closes a connection whose reply is overdue.
 * `findPrimary`: where to connect, of a URL with several hosts; null: to its only host.
 */
export function createSockets(
  closeWhenStalled: boolean,
  findPrimary: ((options: PoolOptions) => Promise<Address>) | null,
): (options: PoolOptions) => Promise<Socket> {
  return async (options) => {
    options.fetch_types = needsTypes(options);
    const {
      host: [host = 'localhost'],
      port: [port = 5432],
      path,
    } = options;
    const address = (await findPrimary?.(options)) ?? { host, port };
    const socket = new Socket();
    // The driver reads the host name for TLS from this property. It buffers writes until the socket is connected.
    Object.assign(socket, { host: address.host });
    socket.on('end', () => {
      if (socket.bytesRead > 0) return;
      // Without an error the driver would not fail the waiting statement, nor pause before it reconnects.
      const error = new Error('the database server closed the connection');
      socket.destroy(Object.assign(error, { code: 'ECONNRESET' }));
    });
    if (path) socket.connect(path);
    else socket.connect(address.port, address.host);
    if (closeWhenStalled) destroyWhenStalled(socket);
    return socket;
  };
}

/** Polls the byte counters of the socket, because under TLS the driver removes listeners from it. */
function destroyWhenStalled(socket: Socket): void {
  let bytesRead = 0;
  let bytesWritten = 0;
  let isReplyPending = false;
  let since = performance.now();
  const timer = setInterval(() => {
    if (socket.destroyed) {
      clearInterval(timer);
    } else if (socket.bytesRead !== bytesRead) {
      bytesRead = socket.bytesRead;
      bytesWritten = socket.bytesWritten;
      isReplyPending = false;
      since = performance.now();
    } else if (!isReplyPending && socket.bytesWritten !== bytesWritten) {
      isReplyPending = true; // later writes do not extend the timeout
      since = performance.now();
    } else if (performance.now() - since > STALL_TIMEOUT_MS) {
      socket.destroy();
    }
  }, CHECK_INTERVAL_MS);
  timer.unref();
}
