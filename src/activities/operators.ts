// What flows record of operators' decisions.
import { recordDecision } from '../resources/operators.ts';
import { bookOf } from '../workflows/flows.ts';
import type { OperatorActivities } from '../workflows/operators/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';

export const createOperatorActivities = ({ sql }: Pick<ActivityDependencies, 'sql'>): OperatorActivities => ({
  recordDecision: (scope, sent) => recordDecision(sql, bookOf(scope), sent),
});
