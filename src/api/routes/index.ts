// All routes of the service. app.ts serves them; tests compare them with the documentation.
import type { Route } from '../route.ts';
import { apiKeyRoutes } from './apiKeys.ts';
import { bankRoutes } from './banks.ts';
import { eventRoutes } from './events.ts';
import { feeRoutes } from './fees.ts';
import { healthRoutes } from './health.ts';
import { holdRoutes } from './holds.ts';
import { payRoutes } from './pay.ts';
import { paymentEndRoutes } from './paymentEnds.ts';
import { paymentRoutes } from './payments.ts';
import { payoutRoutes } from './payouts.ts';
import { payoutValidationRoutes } from './payoutValidation.ts';
import { railCallbackRoutes } from './railCallbacks.ts';
import { refundRoutes } from './refunds.ts';
import { requestLogRoutes } from './requestLogs.ts';
import { reviewCaseRoutes } from './reviewCases.ts';
import { simulationRoutes } from './simulations.ts';
import { splitTemplateRoutes } from './splitTemplates.ts';
import { transactionRoutes } from './transactions.ts';
import { transferRoutes } from './transfers.ts';
import { walletRoutes } from './wallets.ts';
import { webhookEndpointRoutes } from './webhookEndpoints.ts';
import { withdrawalRoutes } from './withdrawals.ts';

export const ROUTES: readonly Route[] = [
  ...healthRoutes,
  ...walletRoutes,
  ...transactionRoutes,
  ...transferRoutes,
  ...holdRoutes,
  ...payRoutes,
  ...withdrawalRoutes,
  ...paymentRoutes,
  ...paymentEndRoutes,
  ...refundRoutes,
  ...splitTemplateRoutes,
  ...payoutRoutes,
  ...payoutValidationRoutes,
  ...webhookEndpointRoutes,
  ...reviewCaseRoutes,
  ...eventRoutes,
  ...apiKeyRoutes,
  ...requestLogRoutes,
  ...bankRoutes,
  ...feeRoutes,
  ...railCallbackRoutes,
  ...simulationRoutes,
];
