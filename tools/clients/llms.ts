// llms.txt (https://llmstxt.org): the API for programs that read text. The API serves it at its root.
import type { ClientDocument } from './document.ts';

export function llmsText({ info, tags, operations, events }: ClientDocument): string {
  const sections = tags.map(({ name, description }) =>
    [
      `## ${name}`,
      '',
      `${description}.`,
      '',
      ...operations
        .filter(({ tag }) => tag === name)
        .map(
          (each) =>
            `- \`${each.method.toUpperCase()} /v1${each.path}\`: ${each.summary}` +
            `${each.scope === '' ? '' : ` (scope \`${each.scope}\`)`}${each.isIdempotent ? ', with an `Idempotency-Key`' : ''}`,
        ),
    ].join('\n'),
  );
  return `${[
    `# ${info.title}`,
    `> ${info.summary}.`,
    info.description,
    [
      '## Documents',
      '',
      '- [OpenAPI 3.1](/v1/openapi.json): every operation and event with a real example, and the errors of each operation',
      '- [Errors](/docs/errors): a heading for every error code',
      '- [Reference](/docs), to try requests in a browser, and [guides](/docs/guide/) by task: on the sandbox host only',
      '',
      'Clients for TypeScript and Python, a command line (`npx manilla`) and a Postman collection are in `clients/` of the',
      'repository.',
    ].join('\n'),
    ...sections,
    [
      '## Webhooks',
      '',
      'Signed by [Standard Webhooks](https://www.standardwebhooks.com), delivered at least once.',
      '',
      ...events.map(({ type, summary }) => `- \`${type}\`: ${summary}`),
    ].join('\n'),
  ].join('\n\n')}\n`;
}
