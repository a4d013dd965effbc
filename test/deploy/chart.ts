// Renders the Helm chart, as objects.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import { installKubernetesTools } from '../../tools/kubernetes/install.ts';

export const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));
export const CHART = path.join(DEPLOY, 'helm/manilla');
const RELEASE = 'manilla';
/** The oldest that the chart is for. */
const KUBERNETES = '1.30';

export interface Variable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef: { name: string; key: string } };
}

interface Probe {
  httpGet?: { path: string; port: string };
  tcpSocket?: { port: string };
}

export interface Container {
  name: string;
  image: string;
  command: string[];
  env: Variable[];
  ports?: { name: string; containerPort: number }[];
  securityContext: object;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
  startupProbe?: Probe;
  lifecycle?: { preStop: { sleep: { seconds: number } } };
}

export interface Pod {
  metadata: { labels: Record<string, string> };
  spec: {
    containers: Container[];
    automountServiceAccountToken: boolean;
    enableServiceLinks: boolean;
    terminationGracePeriodSeconds?: number;
    securityContext: object;
  };
}

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  // Of each kind another; the tests read what they check.
  // biome-ignore lint/suspicious/noExplicitAny: the schema of each kind is checked by kubectl-validate
  spec: any;
  data?: Record<string, string>;
}

const run = promisify(execFile);
const installed = installKubernetesTools();

/** A program's exit, also one that is not 0. */
async function exitOf(program: string, words: string[]): Promise<{ ok: boolean; output: string }> {
  try {
    const { stdout, stderr } = await run(program, words, { maxBuffer: 64_000_000 });
    return { ok: true, output: stdout + stderr };
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    return { ok: false, output: `${stdout ?? ''}${stderr ?? String(error)}` };
  }
}

/** Calls with the path of a file with this content. */
async function withFile<Result>(content: string, use: (file: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(path.join(tmpdir(), 'chart-'));
  const file = path.join(folder, 'file.yaml');
  try {
    writeFileSync(file, content);
    return await use(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Values: files of deploy/helm, in order, and then an object. */
export interface Values {
  files?: string[];
  values?: object;
}

const flagsOf = ({ files = [] }: Values): string[] =>
  files.flatMap((file) => ['--values', path.join(DEPLOY, 'helm', file)]);

export async function lint(values: Values): Promise<{ ok: boolean; output: string }> {
  return await exitOf((await installed).helm, [
    'lint',
    '--strict',
    '--kube-version',
    KUBERNETES,
    CHART,
    ...flagsOf(values),
  ]);
}

/** The rendered text, or the error. */
export async function template(values: Values): Promise<{ ok: boolean; output: string }> {
  const { helm } = await installed;
  return await withFile(stringify(values.values ?? {}), async (file) => {
    const words = ['template', RELEASE, CHART, '--kube-version', KUBERNETES, ...flagsOf(values), '--values', file];
    try {
      const { stdout } = await run(helm, words, { maxBuffer: 64_000_000 });
      return { ok: true, output: stdout };
    } catch (error) {
      return { ok: false, output: String((error as { stderr?: string }).stderr) };
    }
  });
}

export async function render(values: Values = {}): Promise<Manifest[]> {
  const { ok, output } = await template(values);
  if (!ok) throw new Error(output);
  return parseAllDocuments(output)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

/** Checks manifests against the schemas of Kubernetes and of the operators' definitions. */
export async function validate(manifests: string): Promise<{ ok: boolean; output: string }> {
  const { kubectlValidate, definitions } = await installed;
  return await withFile(manifests, (file) =>
    exitOf(kubectlValidate, [file, '--version', KUBERNETES, '--local-crds', definitions]),
  );
}

export const ofKind = (manifests: readonly Manifest[], kind: string): Manifest[] =>
  manifests.filter((manifest) => manifest.kind === kind);

/** The pods of Deployments and Jobs, by the name of their part. */
export function podsOf(manifests: readonly Manifest[]): [part: string, Pod][] {
  return manifests
    .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    .map(({ spec }) => {
      const pod = spec.template as Pod;
      return [pod.metadata.labels['app.kubernetes.io/component'] ?? '', pod];
    });
}

/** The only container of a pod. */
export function containerOf({ spec }: Pod): Container {
  const [container, ...others] = spec.containers;
  if (container === undefined || others.length > 0) throw new Error('a pod has one container');
  return container;
}
