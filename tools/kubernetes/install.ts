// Installs what the checks of the Helm chart need, from the Go module proxy: Helm and kubectl-validate, built as the
// go.mod beside this pin them (two, because they need different versions of the same libraries), and the resource
// definitions of the operators that the manifests are for. Once, into the user's cache folder.
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { userCacheFolder } from '../../dev/temporalInstall.mjs';

const PROGRAMS = [
  { name: 'helm', module: new URL('helm/', import.meta.url), source: 'helm.sh/helm/v3/cmd/helm' },
  {
    name: 'kubectl-validate',
    module: new URL('kubectlValidate/', import.meta.url),
    source: 'sigs.k8s.io/kubectl-validate',
  },
];

/** Modules that are only downloaded, for these files, and their checksums as in a go.sum. */
const DEFINITIONS = [
  {
    module: 'github.com/kedacore/keda/v2@v2.21.0',
    sum: 'h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=',
    files: ['config/crd/bases/keda.sh_scaledobjects.yaml', 'config/crd/bases/keda.sh_triggerauthentications.yaml'],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: [
      'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
      'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
    ],
  },
  {
    module: 'github.com/cloudnative-pg/cloudnative-pg@v1.27.0',
    sum: 'h1:mp0zlYO4vKAJmQdArWORWKr1lmB4Hj8JeBQGX5RBnpg=',
    files: ['config/crd/bases/postgresql.cnpg.io_clusters.yaml'],
  },
];

const run = promisify(execFile);

export interface KubernetesTools {
  helm: string;
  kubectlValidate: string;
  /** A folder of CustomResourceDefinitions. */
  definitions: string;
}

export async function installKubernetesTools(): Promise<KubernetesTools> {
  const cache = userCacheFolder(process.env);
  const folder = path.join(cache, `kubernetes-${fingerprint()}-${process.platform}-${process.arch}`);
  if (!existsSync(folder)) await install(folder);
  return {
    helm: path.join(folder, 'helm'),
    kubectlValidate: path.join(folder, 'kubectl-validate'),
    definitions: path.join(folder, 'definitions'),
  };
}

/** Changes with every pinned module. */
function fingerprint(): string {
  const hash = createHash('sha256').update(JSON.stringify(DEFINITIONS));
  for (const { module } of PROGRAMS) {
    for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(new URL(file, module)));
  }
  return hash.digest('hex').slice(0, 12);
}

async function install(folder: string): Promise<void> {
  await run('go', ['version']).catch((error: unknown) => {
    throw new Error('Go is not installed; the checks of the Helm chart build Helm with it', { cause: error });
  });
  const staging = `${folder}.${randomUUID()}`;
  try {
    mkdirSync(path.join(staging, 'definitions'), { recursive: true });
    await Promise.all([
      ...PROGRAMS.map(({ name, module, source }) =>
        run(
          'go',
          ['build', '-mod=readonly', '-buildvcs=false', '-ldflags=-s -w', '-o', path.join(staging, name), source],
          {
            cwd: fileURLToPath(module),
          },
        ),
      ),
      ...DEFINITIONS.map((each) => download(each, path.join(staging, 'definitions'))),
    ]);
    renameSync(staging, folder);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

async function download({ module, sum, files }: (typeof DEFINITIONS)[number], target: string): Promise<void> {
  // Outside of a module, so that nothing is added to a go.mod.
  const { stdout } = await run('go', ['mod', 'download', '-json', module], { cwd: target });
  const { Dir, Sum } = JSON.parse(stdout) as { Dir: string; Sum: string };
  if (Sum !== sum) throw new Error(`${module} has the checksum ${Sum}, not ${sum}`);
  for (const file of files) copyFileSync(path.join(Dir, file), path.join(target, path.basename(file)));
}
