// The pages of the guide, in the order of its navigation. Pages that are only linked from another, such as the
// decisions, are built too, and not listed.

interface Entry {
  /** In the repository. */
  source: string;
  /** In the navigation; the page has its own heading. */
  label: string;
}

interface Group {
  title: string;
  entries: Entry[];
}

const group = (title: string, pages: Record<string, string>): Group => ({
  title,
  entries: Object.entries(pages).map(([source, label]) => ({ source, label })),
});

/** The first page. */
export const HOME = 'docs/guides/README.md';

export const CONTENTS: readonly Group[] = [
  group('Guides', {
    [HOME]: 'Overview',
    'docs/guides/quick-start.md': 'Quick start',
    'docs/guides/collect.md': 'Collect',
    'docs/guides/pay-out.md': 'Pay out',
    'docs/guides/refund.md': 'Refund',
    'docs/guides/marketplace.md': 'Build a marketplace',
    'docs/guides/reconcile.md': 'Reconcile',
    'docs/guides/go-live.md': 'Go live',
  }),
  group('Reference', {
    'docs/contract.md': 'API contract',
    'docs/errors.md': 'Errors',
    'docs/webhooks.md': 'Events and webhooks',
    'docs/checkout.md': 'Payment page',
    'docs/sandbox.md': 'Sandbox bank',
    'clients/typescript/README.md': 'TypeScript client',
    'clients/python/README.md': 'Python client',
    'clients/cli/README.md': 'Command line',
    'docs/glossary.md': 'Glossary',
    'CHANGELOG.md': 'Changelog',
  }),
  group('Rails', {
    'docs/rails/README.md': 'Live rails',
    'docs/rails/monnify.md': 'Monnify',
    'docs/rails/nomba.md': 'Nomba',
    'docs/rails/capabilities.md': 'What each can do',
    'docs/rails/writing-an-adapter.md': 'Writing an adapter',
  }),
  group('Operation', {
    'docs/operating.md': 'Operating',
    'docs/accounting.md': 'Accounting',
    'docs/configuration.md': 'Configuration',
    'docs/temporal.md': 'Temporal',
    'docs/metrics.md': 'Metrics',
    'docs/traces.md': 'Traces',
    'docs/scaling.md': 'Scaling',
    'docs/citus.md': 'Citus',
    'docs/kubernetes.md': 'Kubernetes',
    'docs/reliability.md': 'Reliability',
    'docs/performance.md': 'Performance',
    'SECURITY.md': 'Security',
  }),
  group('Development', {
    'README.md': 'The project',
    'ARCHITECTURE.md': 'Architecture',
    'docs/reading-the-code.md': 'Reading the code',
    'CONTRIBUTING.md': 'Contributing',
    'docs/adding-a-money-flow.md': 'Adding a money flow',
    'docs/replaying.md': 'Replaying flows',
    'docs/dependencies.md': 'Dependencies',
    'docs/decisions/README.md': 'Decisions',
  }),
];
