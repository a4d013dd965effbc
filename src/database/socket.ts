// The sockets of a pool. The driver waits for ever on a server that takes a statement and then says nothing, as one does
// behind a network that swallows packets, and it reconnects without a pause to one that hangs up on it
// (porsager/postgres #1193). Both end here, at the socket: the driver then fails the statements that were sent on it, and
// sends none of them again by itself.
import { Socket } from 'node:net';

/** The driver closes a connection that has had nothing to do for this long, so a silent one is being waited for. */
export const IDLE_SECONDS = 8;

/**
 * A connection on which the server has been silent for this long is given up. Longer than a connection may be idle, and than
 * any caller waits for a request: nobody hears the answer any more.
 */
const STALL_TIMEOUT_MS = 10_000;

/**
 * Past this, the database ends a statement by itself (`statement_timeout`). A backend that waits for a lock does not notice that
 * its client is gone: without a limit it would wait on and hold one of the server's connections, and every repeat another one.
 * Longer than a request may take (8 s, src/api/middleware/answer.ts), so nobody waits for what is ended; shorter than the
 * silence after which the socket is given up, so that the connection is kept and its statement is known to have done nothing.
 */
export const STATEMENT_MAX_MS = 9_000;
const CHECK_INTERVAL_MS = 500;

/** What the driver tells of the server: one of several hosts, or a socket file. */
interface Address {
  host: string[];
  port: number[];
  path?: string | false;
}

/** The driver's `socket` option for one pool. */
export function createSockets(): (address: Address) => Socket {
  let attempts = 0;
  return ({ host, port, path }) => {
    const place = attempts++ % host.length;
    const name = host[place] ?? 'localhost';
    const socket = new Socket();
    // The driver reads the name for TLS from here, and buffers what it sends until the connection is there.
    Object.assign(socket, { host: name });
    socket.on('end', () => {
      if (socket.bytesRead === 0) socket.destroy(connectionClosed());
    });
    if (path) socket.connect(path);
    else socket.connect(port[place] ?? 5432, name);
    destroyWhenStalled(socket);
    return socket;
  };
}

/** As an error, a hang-up before the first word fails the statement that waits, and the driver pauses before the next try. */
const connectionClosed = (): Error => Object.assign(new Error('the database server hung up'), { code: 'ECONNRESET' });

/** By the socket's own counters: under TLS the driver takes its listeners off, and the bytes still pass through it. */
function destroyWhenStalled(socket: Socket): void {
  let heard = 0;
  let said = 0;
  let isOwed = false;
  let since = performance.now();
  const timer = setInterval(() => {
    if (socket.destroyed) {
      clearInterval(timer);
    } else if (socket.bytesRead !== heard) {
      heard = socket.bytesRead;
      said = socket.bytesWritten;
      isOwed = false;
      since = performance.now();
    } else if (!isOwed && socket.bytesWritten !== said) {
      isOwed = true; // what is said after it does not put the end off
      since = performance.now();
    } else if (performance.now() - since > STALL_TIMEOUT_MS) {
      socket.destroy();
    }
  }, CHECK_INTERVAL_MS);
  timer.unref();
}
