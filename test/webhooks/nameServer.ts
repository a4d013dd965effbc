// A DNS server on loopback that returns what a test specifies.
import { createSocket } from 'node:dgram';

/** The response to one query; `count` is 1 for the first of this name and type. `silence`: no response. */
export type Tells = (name: string, type: 'A' | 'AAAA', count: number) => string[] | 'silence';

export interface NameServer {
  /** For `Resolver.setServers`. */
  address: string;
  close: () => Promise<void>;
}

const HEADER_BYTES = 12;
const TYPES: Record<number, 'A' | 'AAAA'> = { 1: 'A', 28: 'AAAA' };
const RESPONSE_FLAGS = 0x8180;
const NAME_ERROR = 3;

export async function startNameServer(respond: Tells): Promise<NameServer> {
  const socket = createSocket('udp4');
  const counts = new Map<string, number>();
  socket.on('message', (query, { port, address }) => {
    const labels: string[] = [];
    let at = HEADER_BYTES;
    for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
      labels.push(query.toString('ascii', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const question = query.subarray(HEADER_BYTES, at + 5);
    const type = TYPES[query.readUInt16BE(at + 1)];
    if (type === undefined) return;
    const name = labels.join('.');
    const count = (counts.get(`${type} ${name}`) ?? 0) + 1;
    counts.set(`${type} ${name}`, count);
    const addresses = respond(name, type, count);
    if (addresses === 'silence') return;
    const header = Buffer.alloc(HEADER_BYTES);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(RESPONSE_FLAGS | (addresses.length === 0 ? NAME_ERROR : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(addresses.length, 6);
    socket.send(Buffer.concat([header, question, ...addresses.map((ip) => record(type, ip))]), port, address);
  });
  await new Promise<void>((resolve) => {
    socket.bind(0, '127.0.0.1', resolve);
  });
  return {
    address: `127.0.0.1:${socket.address().port}`,
    close: () =>
      new Promise((resolve) => {
        socket.close(resolve);
      }),
  };
}

/** A resource record for the name of the query, with a TTL of zero. IPv6 addresses are given in full. */
function record(type: 'A' | 'AAAA', ip: string): Buffer {
  const data = type === 'A' ? Buffer.from(ip.split('.').map(Number)) : Buffer.from(ip.replaceAll(':', ''), 'hex');
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt16BE(0xc00c, 0); // a pointer to the name in the question
  head.writeUInt16BE(type === 'A' ? 1 : 28, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
