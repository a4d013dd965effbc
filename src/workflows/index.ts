// Every workflow of the service: the entry point of the worker's workflow bundle and of replays.
export { adjustment } from './adjustment/workflow.ts';
export { dayProof } from './dayProof/workflow.ts';
export { hold } from './hold/workflow.ts';
export { inboundCredit } from './inboundCredit/workflow.ts';
export {
  creditPolling,
  failingFlows,
  ledgerSealing,
  ledgerVerification,
  retention,
  sweep,
} from './maintenance/workflow.ts';
export { payment } from './payment/workflow.ts';
export { payout } from './payout/workflow.ts';
export { payoutItem } from './payoutItem/workflow.ts';
export { railResume } from './railResume/workflow.ts';
export { recall } from './recall/workflow.ts';
export { reconciliation } from './reconciliation/workflow.ts';
export { refund } from './refund/workflow.ts';
export { reviewCase } from './reviewCase/workflow.ts';
export { withdrawal } from './withdrawal/workflow.ts';
