// All routes of the service. app.ts serves them; tests compare them with the documentation.
import type { Route } from '../route.ts';
import { bankRoutes } from './banks.ts';
import { eventRoutes } from './events.ts';
import { feeRoutes } from './fees.ts';
import { healthRoutes } from './health.ts';
import { payRoutes } from './pay.ts';
import { paymentRoutes } from './payments.ts';
import { payoutRoutes } from './payouts.ts';
import { railCallbackRoutes } from './railCallbacks.ts';
import { refundRoutes } from './refunds.ts';
import { simulationRoutes } from './simulations.ts';
import { transferRoutes } from './transfers.ts';
import { walletRoutes } from './wallets.ts';
import { webhookEndpointRoutes } from './webhookEndpoints.ts';
import { withdrawalRoutes } from './withdrawals.ts';

export const ROUTES: readonly Route[] = [
  ...healthRoutes,
  ...walletRoutes,
  ...transferRoutes,
  ...payRoutes,
  ...withdrawalRoutes,
  ...paymentRoutes,
  ...refundRoutes,
  ...payoutRoutes,
  ...webhookEndpointRoutes,
  ...eventRoutes,
  ...bankRoutes,
  ...feeRoutes,
  ...railCallbackRoutes,
  ...simulationRoutes,
];
