// Writes the results: a JSON document and the plots of each stage, and one Markdown page over all stages. A run of some
// stages leaves the results of the others unchanged.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Machine } from './machine.ts';
import { formatted, type Measured } from './measure.ts';
import { renderPlot } from './plot.ts';
import { type Goal, isMet, type StageResult } from './stage.ts';

const LINE_MAX = 120;

/** The JSON document of a stage. */
interface StageRecord {
  stage: string;
  title: string;
  /** When the stage ended, UTC. */
  at: string;
  seconds: number;
  quick: boolean;
  machine: Machine;
  /** Why the stage did not run; it then has no figures. */
  cannotRun?: string;
  measured: Measured[];
  goals: (Goal & { met: boolean })[];
  notes: string[];
  plots: string[];
  files: string[];
}

/** Writes the JSON, plots and files of one stage. Replaces those of an earlier run. */
export function writeStage(
  folder: string,
  stage: { name: string; title: string },
  run: { at: Date; seconds: number; quick: boolean; machine: Machine },
  result: StageResult | { cannotRun: string },
): void {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (name === `${stage.name}.json` || name.startsWith(`${stage.name}-`)) rmSync(path.join(folder, name));
  }
  const complete: StageResult & { cannotRun?: string } = { measured: [], goals: [], plots: [], notes: [], ...result };
  const plots = complete.plots.map((plot) => {
    const name = `${stage.name}-${plot.name}.svg`;
    writeFileSync(path.join(folder, name), `${renderPlot(plot)}\n`);
    return name;
  });
  const files = Object.entries(complete.files ?? {}).map(([name, text]) => {
    writeFileSync(path.join(folder, `${stage.name}-${name}`), `${text.trimEnd()}\n`);
    return `${stage.name}-${name}`;
  });
  const record: StageRecord = {
    stage: stage.name,
    title: stage.title,
    ...run,
    at: run.at.toISOString(),
    ...(complete.cannotRun === undefined ? {} : { cannotRun: complete.cannotRun }),
    measured: complete.measured,
    goals: complete.goals.map((goal) => ({ ...goal, met: isMet(goal) })),
    notes: complete.notes,
    plots,
    files,
  };
  writeFileSync(path.join(folder, `${stage.name}.json`), `${JSON.stringify(record, null, 2)}\n`);
}

/** Writes `results.md` into the folder. */
export function writeResults(folder: string, order: readonly string[]): void {
  writeFileSync(path.join(folder, 'results.md'), resultsPage(folder, order));
}

/** The page over every stage's JSON in the folder, in the order of the names given. */
export function resultsPage(folder: string, order: readonly string[]): string {
  const records = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as StageRecord)
    .toSorted((a, b) => order.indexOf(a.stage) - order.indexOf(b.stage));
  return [
    '# Results',
    '',
    ...wrapped(
      'Written by `npm run bench`; [Performance](../performance.md) describes the method. The JSON file of a stage has every figure with its range, latencies and machine.',
    ),
    '',
    ...machineLines(records),
    '',
    ...records.flatMap(section),
  ].join('\n');
}

/** The properties that matter to a figure, where all stages share them. */
function machineLines(records: readonly StageRecord[]): string[] {
  return ['processor', 'memory', 'postgres'].flatMap((name) => {
    const values = new Set(records.map(({ machine }) => machine[name]));
    return values.size === 1 ? [`- ${name}: ${[...values][0]}`] : [];
  });
}

/** The goals of a stage and its plots. */
function section(record: StageRecord): string[] {
  const lines = [`## ${record.stage}`, '', ...wrapped(record.title), ''];
  if (record.quick) lines.push('**Measured with `--quick`: these figures are not for comparing.**', '');
  if (record.cannotRun !== undefined) return [...lines, ...wrapped(`Did not run: ${record.cannotRun}`), ''];
  if (record.goals.length > 0) {
    lines.push(...table(['goal', 'wanted', 'reached'], record.goals.map(goalRow)), '');
  }
  for (const plot of record.plots) lines.push(`![${plot}](${plot})`, '');
  for (const file of record.files) lines.push(`[${file}](${file})`, '');
  return lines;
}

function goalRow({ text, atLeast, atMost, got, met }: Goal & { met: boolean }): string[] {
  const wanted = [
    ...(atLeast === undefined ? [] : [`≥${formatted(atLeast)}`]),
    ...(atMost === undefined ? [] : [`≤${formatted(atMost)}`]),
  ];
  return [text, wanted.join(', '), met ? formatted(got) : `**${formatted(got)}, not met**`];
}

function table(head: string[], rows: string[][]): string[] {
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)];
}

/** Text in lines of at most `LINE_MAX` columns. */
function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > LINE_MAX) {
      lines.push(line);
      line = word;
    } else {
      line += line === '' ? word : ` ${word}`;
    }
  }
  return [...lines, line];
}
