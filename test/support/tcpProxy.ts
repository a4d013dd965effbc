// A TCP proxy in front of Postgres that a test can break: as a server that died, as a network that swallows everything,
// or exactly between a statement and its answer.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** `pass`: as if it were not there. `refuse`: takes a connection and ends it. `swallow`: connects and never answers. */
type Mode = 'pass' | 'refuse' | 'swallow';

export interface TcpProxy {
  /** The URL to connect to instead. */
  url: string;
  /** Ends every connection and takes no new one. */
  refuse: () => void;
  /** Forwards nothing any more, in either direction, and keeps every connection open. */
  swallow: () => void;
  /** Lets everything through again. What was swallowed stays lost, so those connections end. */
  heal: () => void;
  /** Lets new connections through. Those that there are stay silent for ever, as after a network that lost its state. */
  healForNew: () => void;
  /** How many connections were made to it so far. */
  connections: () => number;
  /**
   * Forwards the next message that contains `text`, waits until the server has answered, and ends the connection instead
   * of passing the answer on. Resolves when that happened.
   */
  loseReplyTo: (text: string) => Promise<void>;
  /** Ends the connection of the next message that contains `text` before the server gets it. Resolves then. */
  loseRequest: (text: string) => Promise<void>;
  close: () => Promise<void>;
}

interface Trap {
  text: string;
  kind: 'reply' | 'request';
  sprung: () => void;
}

export async function startTcpProxy(databaseUrl: string): Promise<TcpProxy> {
  const target = new URL(databaseUrl);
  let mode: Mode = 'pass';
  let traps: Trap[] = [];
  let connections = 0;
  const open = new Set<Socket>();
  const silent = new WeakSet<Socket>();

  const server = createServer((inner) => {
    connections += 1;
    const isSwallowed = (): boolean => mode === 'swallow' || silent.has(inner);
    if (mode === 'refuse') {
      inner.destroy();
      return;
    }
    const outer = connect(Number(target.port || 5432), target.hostname);
    let waiting: Trap | null = null;
    for (const socket of [inner, outer]) {
      open.add(socket);
      socket.on('error', () => {}); // the other end sees it as a lost connection, which is the point
      socket.on('close', () => {
        open.delete(socket);
        inner.destroy();
        outer.destroy();
      });
    }
    inner.on('data', (chunk) => {
      if (isSwallowed()) return;
      const trap = traps.find(({ text }) => chunk.includes(text));
      if (trap !== undefined) {
        traps = traps.filter((other) => other !== trap);
        if (trap.kind === 'request') {
          inner.destroy();
          trap.sprung();
          return;
        }
        waiting = trap;
      }
      outer.write(chunk);
    });
    outer.on('data', (chunk) => {
      if (isSwallowed()) return;
      if (waiting !== null) {
        inner.destroy();
        waiting.sprung();
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
  const set = (kind: Trap['kind'], text: string): Promise<void> =>
    new Promise((sprung) => {
      traps.push({ text, kind, sprung });
    });
  const url = new URL(databaseUrl);
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
      for (const socket of open) silent.add(socket);
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
