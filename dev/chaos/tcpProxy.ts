// A TCP proxy in front of a server with fault injection: a crashed server, a network that drops all packets, or a
// connection that is lost between a statement and its response.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * `pass`: forwards. `refuse`: accepts a connection and closes it. `swallow`: accepts a connection and forwards nothing.
 */
type Mode = 'pass' | 'refuse' | 'swallow';

export interface TcpProxy {
  /** The URL of the proxy. */
  url: string;
  /** Closes all connections and new ones. */
  refuse: () => void;
  /** Stops forwarding in both directions, with connections kept open. */
  swallow: () => void;
  /** Forwards again. Closes the connections whose data was dropped. */
  heal: () => void;
  /**
   * Forwards new connections. Existing connections stay open without forwarding, as after a network device lost its
   * state.
   */
  healForNew: () => void;
  /** The number of connections so far. */
  connections: () => number;
  /**
   * Forwards the next message that contains `text`, waits for the server's response, and closes the connection instead
   * of forwarding the response. Resolves when that has happened.
   */
  loseReplyTo: (text: string) => Promise<void>;
  /**
   * Closes the connection of the next message that contains `text` without forwarding it. Resolves when that has
   * happened.
   */
  loseRequest: (text: string) => Promise<void>;
  close: () => Promise<void>;
}

interface Fault {
  text: string;
  kind: 'reply' | 'request';
  onTriggered: () => void;
}

export async function startTcpProxy(targetUrl: string): Promise<TcpProxy> {
  const target = new URL(targetUrl);
  let mode: Mode = 'pass';
  let faults: Fault[] = [];
  let connections = 0;
  const open = new Set<Socket>();
  const dropped = new WeakSet<Socket>();

  const server = createServer((inner) => {
    connections += 1;
    const isDropped = (): boolean => mode === 'swallow' || dropped.has(inner);
    if (mode === 'refuse') {
      inner.destroy();
      return;
    }
    const outer = connect(Number(target.port || 5432), target.hostname);
    let waiting: Fault | null = null;
    for (const socket of [inner, outer]) {
      open.add(socket);
      socket.on('error', () => {}); // the other end sees a lost connection, as intended
      socket.on('close', () => {
        open.delete(socket);
        inner.destroy();
        outer.destroy();
      });
    }
    inner.on('data', (chunk) => {
      if (isDropped()) return;
      const fault = faults.find(({ text }) => chunk.includes(text));
      if (fault !== undefined) {
        faults = faults.filter((other) => other !== fault);
        if (fault.kind === 'request') {
          inner.destroy();
          fault.onTriggered();
          return;
        }
        waiting = fault;
      }
      outer.write(chunk);
    });
    outer.on('data', (chunk) => {
      if (isDropped()) return;
      if (waiting !== null) {
        inner.destroy();
        waiting.onTriggered();
        return;
      }
      inner.write(chunk);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });

  const endAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  const set = (kind: Fault['kind'], text: string): Promise<void> =>
    new Promise((onTriggered) => {
      faults.push({ text, kind, onTriggered });
    });
  const url = new URL(targetUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    refuse: () => {
      mode = 'refuse';
      endAll();
    },
    swallow: () => {
      mode = 'swallow';
    },
    heal: () => {
      if (mode === 'swallow') endAll();
      mode = 'pass';
    },
    healForNew: () => {
      for (const socket of open) dropped.add(socket);
      mode = 'pass';
    },
    connections: () => connections,
    loseReplyTo: (text) => set('reply', text),
    loseRequest: (text) => set('request', text),
    close: async () => {
      endAll();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
