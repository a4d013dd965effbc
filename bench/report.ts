// Writes the results: a JSON document and the plots of each stage, and one Markdown page over all stages. A run of some
// stages leaves the results of the others unchanged.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Machine } from './machine.ts';
import { formatted, type Measured } from './measure.ts';
import { renderPlot } from './plot.ts';
import { type Goal, isMet, type StageResult } from './stage.ts';

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

/** Writes `results.md` from the JSON documents in the folder, in the given order of stages. */
export function writeResults(folder: string, order: readonly string[]): string {
  const records = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as StageRecord)
    .toSorted((a, b) => order.indexOf(a.stage) - order.indexOf(b.stage));
  const page = `# Results\n\nWritten by \`npm run bench\`. What is measured and what it means: [../performance.md](../performance.md).\n\n${records
    .map(section)
    .join('\n')}`;
  writeFileSync(path.join(folder, 'results.md'), page);
  return page;
}

function section(record: StageRecord): string {
  const lines = [`## ${record.stage}`, '', record.title, ''];
  if (record.quick) lines.push('**A quick run (`--quick`): do not compare these figures.**', '');
  if (record.cannotRun !== undefined) {
    lines.push(`Did not run: ${record.cannotRun}`, '');
    return lines.join('\n');
  }
  lines.push(...table(['', 'unit', 'min', 'median', 'max', 'rounds', 'also'], record.measured.map(figures)), '');
  if (record.goals.length > 0) {
    lines.push(...table(['goal', 'target', 'result', ''], record.goals.map(goalRow)), '');
  }
  for (const note of record.notes) lines.push(`- ${note}`);
  if (record.notes.length > 0) lines.push('');
  for (const plot of record.plots) lines.push(`![${plot}](${plot})`, '');
  for (const file of record.files) lines.push(`[${file}](${file})`, '');
  const machine = Object.entries(record.machine).map(([name, value]) => `${name}: ${value}`);
  lines.push(`Measured ${record.at} in ${Math.round(record.seconds)} s. ${machine.join('; ')}.`, '');
  return lines.join('\n');
}

function figures({ name, unit, min, median, max, rounds, details }: Measured): string[] {
  const also = Object.entries(details).map(([detail, value]) => `${detail} ${formatted(value)}`);
  return [name, unit, formatted(min), formatted(median), formatted(max), String(rounds.length), also.join(', ')];
}

function goalRow(goal: Goal & { met: boolean }): string[] {
  const target = [
    ...(goal.atLeast === undefined ? [] : [`≥ ${formatted(goal.atLeast)}`]),
    ...(goal.atMost === undefined ? [] : [`≤ ${formatted(goal.atMost)}`]),
  ];
  return [goal.text, target.join(', '), formatted(goal.got), goal.met ? 'met' : '**not met**'];
}

function table(head: string[], rows: string[][]): string[] {
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}
