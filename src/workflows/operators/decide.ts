// What is wrong with the message of an operator, before anyone knows who sent it.

/** Why a message is refused before its sender is identified; null: it may be tried. */
export function refuseMessage(
  message: { action?: unknown; reason?: unknown; code?: unknown } | null,
  choices: readonly string[],
  because?: string,
): string | null {
  if (message === null || typeof message !== 'object') return 'Send one object: {"action", "reason", "code"}.';
  const { action, reason, code } = message;
  const refusal = refuseAction(action, choices, because);
  if (refusal !== null) return refusal;
  if (isBlank(reason)) return 'reason must say why, for the audit trail.';
  return isBlank(code) ? 'code must say who decides. Make one: npm run cli -- operators code WORKFLOW_ID ACTION' : null;
}

/** Why an action is refused; null if it is one of the choices. `because`: why there are no others, as a sentence. */
export function refuseAction(action: unknown, choices: readonly string[], because?: string): string | null {
  if (choices.some((choice) => choice === action)) return null;
  const allowed = `action must be ${choices.length === 1 ? '' : 'one of '}${choices.join(', ')}`;
  return because === undefined ? `${allowed}.` : `${allowed}: ${because}`;
}

const isBlank = (text: unknown): boolean => typeof text !== 'string' || text.trim() === '';
