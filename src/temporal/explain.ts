// Explains a failed connection. The SDK reports a refused certificate, a server without TLS and a wrong CA in the same
// words ("transport error", "Failed to connect before the deadline"), so a TLS handshake of our own finds the reason.
import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { TLSConfig } from '@temporalio/client';
import {
  accessRefused,
  certificateDemanded,
  certificateRefused,
  faultOfCall,
  serverHasOtherName,
  serverNotTrusted,
  type TemporalFault,
  tlsExpected,
  tlsNotOffered,
  unreachable,
} from './faults.ts';
import type { TemporalTarget } from './profile.ts';

/**
 * The time for a handshake and for the first bytes of the server: HTTP/2 servers send their settings first. A server
 * that sends nothing has not refused anything.
 */
const HANDSHAKE_MS = 2_000;

/** How the SDK's core words a refusal of the first call, when a worker connects. */
const CORE_REFUSALS = /valid authentication credentials|does not have permission/;

/** The reason of a failed connection. */
export async function explained(error: unknown, target: TemporalTarget): Promise<TemporalFault> {
  const fault = faultOfCall(error, target);
  if (fault !== null && fault.kind !== 'unreachable') return fault;
  const { message } = error as Error;
  if (CORE_REFUSALS.test(message)) return accessRefused(target, 'the credentials were not accepted', error);
  return (await examine(target)) ?? fault ?? unreachable(target, message, error);
}

/** What a handshake finds wrong; null when it finds nothing. */
async function examine(target: TemporalTarget): Promise<TemporalFault | null> {
  const { tls } = target.credentials();
  const endpoint = endpointOf(target.address);
  if (endpoint === null) return unreachable(target, 'not a host and a port');
  const { serverNameOverride, serverRootCACertificate, clientCertPair }: TLSConfig = tls === true || !tls ? {} : tls;
  const name = serverNameOverride ?? endpoint.host;
  const end = await handshake({
    ...endpoint,
    ...(isIP(name) === 0 && { servername: name }),
    ...(serverRootCACertificate && { ca: Buffer.from(serverRootCACertificate) }),
    ...(clientCertPair && { cert: Buffer.from(clientCertPair.crt), key: Buffer.from(clientCertPair.key) }),
  });
  if (end.stage === 'connect') return unreachable(target, end.why);
  if (tls === false) return end.untrusted === undefined && !end.isAlert ? null : tlsExpected(target);
  if (end.stage === 'silent') return unreachable(target, end.why);
  if (end.stage === 'handshake' && !end.isAlert) return tlsNotOffered(target, end.why);
  if (end.untrusted === 'ERR_TLS_CERT_ALTNAME_INVALID') return serverHasOtherName(target, name);
  if (end.untrusted) return serverNotTrusted(target, end.untrusted);
  if (end.stage === 'open') return null;
  if (clientCertPair === undefined) return certificateDemanded(target, end.why);
  const { validTo } = new X509Certificate(clientCertPair.crt);
  return certificateRefused(target, `${end.why}; it is valid until ${validTo}`);
}

interface HandshakeEnd {
  /**
   * How far it came. `silent`: the server accepted the connection and sent nothing. `closed`: it ended the connection
   * after the handshake. `open`: it sent data after the handshake, or kept the connection.
   */
  stage: 'connect' | 'silent' | 'handshake' | 'closed' | 'open';
  why: string;
  /** Whether the server ended it with an alert, as a server with TLS does. */
  isAlert: boolean;
  /** After a handshake: why the server's certificate is not trusted, or null when it is. */
  untrusted: string | null | undefined;
}

/** Where a handshake ends that is at this stage when its time is over. */
const AT_TIMEOUT = { connect: 'connect', handshake: 'silent', closed: 'open' } as const;

function handshake(options: ConnectionOptions): Promise<HandshakeEnd> {
  return new Promise((resolve) => {
    let stage: 'connect' | 'handshake' | 'closed' = 'connect';
    let untrusted: string | null | undefined;
    const socket = connectTls({ ...options, ALPNProtocols: ['h2'], rejectUnauthorized: false });
    const finish = (end: HandshakeEnd['stage'], why: string, isAlert = false): void => {
      clearTimeout(timer);
      resolve({ stage: end, why, isAlert, untrusted });
      socket.destroy();
    };
    const timer = setTimeout(() => {
      finish(AT_TIMEOUT[stage], 'no response in time');
    }, HANDSHAKE_MS);
    socket.once('connect', () => {
      stage = 'handshake';
    });
    socket.once('secureConnect', () => {
      stage = 'closed'; // unless it sends data: a refusal of the client certificate comes after the handshake
      untrusted = socket.authorized ? null : String(socket.authorizationError);
    });
    socket.once('data', () => finish('open', ''));
    socket.once('close', () => finish(stage, 'it closed the connection'));
    socket.on('error', (error: Error & { code?: string }) => {
      finish(stage, wordsOf(error), error.code?.includes('_ALERT_') ?? false);
    });
  });
}

/** `certificate required`, for `ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED`. */
function wordsOf({ code, message }: Error & { code?: string }): string {
  const alert = code?.split('_ALERT_')[1];
  if (alert !== undefined) return alert.toLowerCase().replaceAll('_', ' ');
  return code?.startsWith('ERR_SSL_') ? code.slice('ERR_SSL_'.length).toLowerCase().replaceAll('_', ' ') : message;
}

/** The host and port of an address, with Temporal's default port. */
function endpointOf(address: string): { host: string; port: number } | null {
  if (!URL.canParse(`tcp://${address}`)) return null;
  const { hostname, port } = new URL(`tcp://${address}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 7233) };
}
