// A TLS port in front of a Temporal server, with certificates made for the test. By default it is the test stack's
// server, and the port demands a client certificate.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer } from 'node:tls';
import { generate } from 'selfsigned';
import { testStack } from './stack.ts';

const EC = { keyType: 'ec', algorithm: 'sha256' } as const;
const named = (value: string) => [{ name: 'commonName', value }];

interface Issued {
  cert: string;
  private: string;
}

export interface SecuredTemporal {
  address: string;
  /** The settings of a process that is admitted. */
  settings: Record<string, string>;
  /** Certificates of the CA of clients have to be of this new one from now on; open connections are ended. */
  replaceClientCa: () => Promise<void>;
  close: () => Promise<void>;
}

const newCa = async (): Promise<Issued> =>
  await generate(named('CA'), {
    ...EC,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });

const issue = async (ca: Issued, name: string): Promise<Issued> =>
  await generate(named(name), { ...EC, ca: { key: ca.private, cert: ca.cert } });

interface SecuredOptions {
  /** The address of the server. */
  behind?: string;
  demandsCertificate?: boolean;
}

export async function startSecuredTemporal({
  behind = testStack().temporalAddress,
  demandsCertificate = true,
}: SecuredOptions = {}): Promise<SecuredTemporal> {
  const folder = await mkdtemp(path.join(tmpdir(), 'manilla-tls-'));
  const file = (name: string): string => path.join(folder, name);
  const serverCa = await newCa();
  const { cert, private: key } = await issue(serverCa, 'localhost');
  await writeFile(file('ca.pem'), serverCa.cert);
  const issueClient = async (): Promise<string> => {
    const ca = await newCa();
    const client = await issue(ca, 'worker');
    await Promise.all([writeFile(file('client.pem'), client.cert), writeFile(file('client.key'), client.private)]);
    return ca.cert;
  };
  const contextWith = (clientCa: string) => ({ cert, key, ca: [clientCa] });
  const [host, port] = behind.split(':');
  const sockets = new Set<Socket>();
  const server = createServer(
    {
      ...contextWith(await issueClient()),
      requestCert: demandsCertificate,
      rejectUnauthorized: demandsCertificate,
      ALPNProtocols: ['h2'],
    },
    (inner) => {
      const outer = connectTcp(Number(port), host);
      for (const socket of [inner, outer]) {
        sockets.add(socket);
        socket.on('error', () => {}); // the other end sees a lost connection
        socket.on('close', () => {
          sockets.delete(socket);
          inner.destroy();
          outer.destroy();
        });
      }
      inner.pipe(outer).pipe(inner);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const address = `localhost:${(server.address() as AddressInfo).port}`;
  return {
    address,
    settings: {
      TEMPORAL_ADDRESS: address,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: file('ca.pem'),
      ...(demandsCertificate && {
        TEMPORAL_TLS_CLIENT_CERT_PATH: file('client.pem'),
        TEMPORAL_TLS_CLIENT_KEY_PATH: file('client.key'),
      }),
    },
    replaceClientCa: async () => {
      server.setSecureContext(contextWith(await issueClient()));
      endConnections();
    },
    close: async () => {
      endConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
